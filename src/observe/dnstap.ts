/**
 * dnstap messages (dnstap.proto of dnstap.info) as frames of a frame stream: their length in four octets, then a message
 * in protocol buffers. A frame is written here octet by octet, since it has few fields and there may be many of them.
 */
import { Transport } from '../answer/transport.js';
import type { Sample } from './samples.js';

export const DNSTAP_CONTENT_TYPE = 'protobuf:dnstap.Dnstap';

/** What every message says about this server. */
export interface TapServer {
  readonly identity: string;
  readonly version: string;
  /** The own address, where it is the same for all queries of a family: 4 or 16 octets. */
  readonly addresses: readonly Uint8Array[];
  /** By Transport code. */
  readonly ports: readonly number[];
}

/** Numbers of dnstap.proto. */
const MessageType = { authQuery: 1, authResponse: 2 } as const;
const SOCKET_FAMILY = { inet: 1, inet6: 2 } as const;
const SOCKET_PROTOCOL = { udp: 1, tcp: 2, dot: 3, doh: 4 } as const;
const Wire = { varint: 0, octets: 2, fixed32: 5 } as const;

/** Octets of a message besides its DNS messages and texts. */
const ROOM = 512;

export interface TapWriter {
  /** The two frames of a sample, AUTH_QUERY and AUTH_RESPONSE; only the first when nothing was answered. A copy. */
  frames(sample: Sample): Uint8Array;
}

export function createTapWriter({ identity, version, addresses, ports }: TapServer): TapWriter {
  const head = new Writer(1024);
  if (identity !== '') head.octets(1, Buffer.from(identity));
  if (version !== '') head.octets(2, Buffer.from(version));
  const server = head.taken();
  const message = new Writer(2 * 65_536 + ROOM);
  const out = new Writer(4 * 65_536 + 4 * ROOM);

  const putMessage = (sample: Sample, type: number): void => {
    const isV4 = sample.client.length === 4;
    const own = sample.own.length > 0 ? sample.own : addresses.find(({ length }) => length === sample.client.length);
    message.clear();
    message.varint(1, type);
    if (sample.client.length > 0) message.varint(2, isV4 ? SOCKET_FAMILY.inet : SOCKET_FAMILY.inet6);
    message.varint(3, protocolOf(sample.transport));
    if (sample.client.length > 0) message.octets(4, sample.client);
    if (own) message.octets(5, own);
    if (sample.clientPort > 0) message.varint(6, sample.clientPort);
    message.varint(7, ports[sample.transport] ?? 0);
    message.time(8, sample.atUs);
    if (type === MessageType.authQuery) message.octets(10, sample.request);
    if (sample.apex.length > 0) message.octets(11, sample.apex);
    if (type === MessageType.authResponse) {
      message.time(12, sample.atUs + sample.tookUs);
      message.octets(14, sample.response);
    }
    const body = message.taken();
    out.beginFrame();
    out.raw(server);
    out.octets(14, body);
    // Dnstap.type is MESSAGE.
    out.varint(15, 1);
    out.endFrame();
  };

  return {
    frames(sample) {
      out.clear();
      putMessage(sample, MessageType.authQuery);
      if (sample.response.length > 0) putMessage(sample, MessageType.authResponse);
      return new Uint8Array(out.taken());
    },
  };
}

function protocolOf(transport: number): number {
  switch (transport) {
    case Transport.udp:
      return SOCKET_PROTOCOL.udp;
    case Transport.tcp:
      return SOCKET_PROTOCOL.tcp;
    case Transport.tls:
      return SOCKET_PROTOCOL.dot;
    default:
      return SOCKET_PROTOCOL.doh;
  }
}

/** Writes fields of protocol buffers into one buffer that is used again and again. */
class Writer {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private at = 0;
  private frameAt = 0;

  constructor(room: number) {
    this.bytes = new Uint8Array(room);
    this.view = new DataView(this.bytes.buffer);
  }

  clear(): void {
    this.at = 0;
  }

  /** What was written: a view. */
  taken(): Uint8Array {
    return this.bytes.subarray(0, this.at);
  }

  varint(field: number, value: number): void {
    this.number((field << 3) | Wire.varint);
    this.number(value);
  }

  octets(field: number, octets: Uint8Array): void {
    this.number((field << 3) | Wire.octets);
    this.number(octets.length);
    this.raw(octets);
  }

  /** A time in seconds and, in the next field, nanoseconds. */
  time(field: number, us: number): void {
    this.varint(field, Math.floor(us / 1e6));
    this.number(((field + 1) << 3) | Wire.fixed32);
    this.view.setUint32(this.at, (us % 1e6) * 1000, true);
    this.at += 4;
  }

  raw(octets: Uint8Array): void {
    this.bytes.set(octets, this.at);
    this.at += octets.length;
  }

  beginFrame(): void {
    this.frameAt = this.at;
    this.at += 4;
  }

  endFrame(): void {
    this.view.setUint32(this.frameAt, this.at - this.frameAt - 4);
  }

  private number(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.bytes[this.at++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.at++] = rest;
  }
}
