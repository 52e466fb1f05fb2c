/** Raw DNS clients for transport tests: they send and return octets. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A query with one question: ID, name of labels, QTYPE, class IN. */
export function makeQuery(id: number, name: string, type: number): Buffer {
  const labels = name.split('.').filter((label) => label.length > 0);
  const qname = Buffer.concat([
    ...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.of(0),
  ]);
  const header = Buffer.from([id >>> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([header, qname, Buffer.from([type >>> 8, type & 255, 0, 1])]);
}

export function frame(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([message.length >>> 8, message.length & 255]), message]);
}

/** Messages of a sequence of frames; what is left over must be nothing. */
export function unframe(octets: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  let at = 0;
  while (at < octets.length) {
    const length = octets.readUInt16BE(at);
    messages.push(octets.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  if (at !== octets.length) throw new Error(`a frame is cut off at ${at} of ${octets.length}`);
  return messages;
}

export class UdpClient {
  private readonly arrived: Buffer[] = [];
  private wake: (() => void) | undefined;

  private constructor(private readonly socket: DatagramSocket) {
    socket.on('message', (message) => {
      this.arrived.push(message);
      this.wake?.();
    });
    socket.on('error', () => {});
  }

  /** A connected socket: it gets datagrams only from the very address it sends to. */
  static async open(address: string, port: number, from?: string): Promise<UdpClient> {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    if (from !== undefined) {
      socket.bind(0, from);
      await once(socket, 'listening');
    }
    socket.connect(port, address);
    await once(socket, 'connect');
    socket.setRecvBufferSize(1 << 20);
    return new UdpClient(socket);
  }

  send(message: Uint8Array): void {
    this.socket.send(message);
  }

  /** The next datagram; undefined if none comes in `waitMs`. */
  async receive(waitMs = 5_000): Promise<Buffer | undefined> {
    if (this.arrived.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wake = undefined;
    }
    return this.arrived.shift();
  }

  async ask(message: Uint8Array, waitMs?: number): Promise<Buffer | undefined> {
    this.send(message);
    return this.receive(waitMs);
  }

  close(): void {
    this.socket.close();
  }
}

export class StreamClient {
  readonly chunks: Buffer[] = [];
  octets = 0;
  closed = false;
  ended = false;
  private readonly waiting = new Set<() => void>();

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.octets += chunk.length;
      this.notify();
    });
    socket.on('end', () => {
      this.ended = true;
      this.notify();
    });
    socket.on('close', () => {
      this.closed = true;
      this.notify();
    });
    socket.on('error', () => {});
  }

  static async open(address: string, port: number, from?: string): Promise<StreamClient> {
    const own = from === undefined ? {} : { localAddress: from };
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, ...own });
    await once(socket, 'connect');
    return new StreamClient(socket);
  }

  /** Resolves as soon as `done` holds; looked at whenever something happens. Rejects after five seconds. */
  until(done: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(look);
        reject(new Error(`waited in vain; ${this.octets} octets came, ended ${this.ended}, closed ${this.closed}`));
      }, 5_000);
      const look = (): void => {
        if (!done()) return;
        this.waiting.delete(look);
        clearTimeout(timer);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Everything received, when it is `octets` long. */
  async receive(octets: number): Promise<Buffer> {
    await this.until(() => this.octets >= octets);
    return Buffer.concat(this.chunks);
  }

  /** Everything received until the server's end. */
  async receiveAll(): Promise<Buffer> {
    await this.until(() => this.ended || this.closed);
    return Buffer.concat(this.chunks);
  }

  private notify(): void {
    for (const look of [...this.waiting]) look();
  }
}
