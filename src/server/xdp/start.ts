/**
 * DNS over UDP beside the sockets of the system, on chosen interfaces (AF_XDP). The sockets stay: what the program of an interface
 * passes on comes to them, and so does everything while there is no program.
 *
 * Interfaces are looked at again and again: addresses come and go, the MTU changes, and an interface that was removed may come back.
 */
import { messageOf, UserError } from '../../base/errors.js';
import { type Syscalls, SystemError } from '../syscalls.js';
import { UdpWorkers, type UdpWorkersOptions, type WorkerSockets } from '../udp-workers.js';
import { type Attachment, createAttachment } from './attachment.js';
import { findInterface, type Interface, servedAddresses } from './interface.js';
import { openQueue, type Queue } from './queue.js';

export interface XdpOptions
  extends Pick<
    UdpWorkersOptions,
    'engine' | 'answerDeferred' | 'groupOfDeferred' | 'turns' | 'counters' | 'firstThread' | 'log' | 'clock'
  > {
  readonly interfaces: readonly string[];
  /** Those of the sockets, literal. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** The most threads for each interface. */
  readonly workers: number;
  /** Another process serves these interfaces; this one begins when that one has ended. */
  readonly takeOver?: boolean | undefined;
  /** They were served before: the sockets serve without an interface that cannot be served now, until it can. */
  readonly isRestart?: boolean | undefined;
}

export interface XdpServers {
  /** Frames lost in full queues; undefined where the kernel does not report it. */
  countQueueDrops(): number | undefined;
  /** Resolves when all frames go on their ordinary way, and the threads have ended. */
  close(): Promise<void>;
}

/** How often interfaces are looked at, in milliseconds. */
const LOOK_MS = 2000;
/** Octets of a packet; what every host can receive (RFC 1122 §3.3.3). */
const LEAST_MTU = 576;
/** Addresses that a program compares. */
const MOST_ADDRESSES = 128;

/** Rejects with a {@link UserError} for an interface that is not there, or without the right to it, and leaves nothing behind. */
export async function startXdp(calls: Syscalls, options: XdpOptions): Promise<XdpServers> {
  const { interfaces, workers, firstThread, clock, takeOver, isRestart } = options;
  const served: ServedInterface[] = [];
  try {
    for (const [i, name] of interfaces.entries()) {
      const one = new ServedInterface(calls, name, { ...options, firstThread: firstThread + i * workers });
      served.push(one);
      await (isRestart ? one.look() : one.begin(takeOver === true));
    }
  } catch (error) {
    await Promise.all(served.map((one) => one.close()));
    throw error;
  }
  const cancel = clock.every(LOOK_MS, () => {
    for (const one of served) void one.look();
  });
  return {
    countQueueDrops: () => served.reduce<number | undefined>((sum, one) => plus(sum, one.countQueueDrops()), 0),
    async close() {
      cancel();
      await Promise.all(served.map((one) => one.close()));
    },
  };
}

const plus = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a + b;

class ServedInterface {
  private readonly facts = new SharedArrayBuffer(64);
  private found: Interface | undefined;
  private attachment: Attachment | undefined;
  private threads: UdpWorkers | undefined;
  private addresses = '';
  /** What the log last said about it. */
  private said = '';
  private work: Promise<void> = Promise.resolve();
  private isBusy = false;
  private isClosed = false;
  private formerDrops = 0;

  constructor(
    private readonly calls: Syscalls,
    private readonly name: string,
    private readonly options: XdpOptions,
  ) {}

  /** `mayWait`: whether another program at the interface is not an error. */
  async begin(mayWait: boolean): Promise<void> {
    const found = findInterface(this.name);
    if (!found) throw new UserError(`there is no network interface '${this.name}'`, 'ip link lists them.');
    try {
      await this.open(found);
    } catch (error) {
      if (mayWait && isTaken(error)) this.say('another program holds it');
      else throw this.refusal(error);
    }
  }

  /** Follows what has changed. What fails is tried again the next time; meanwhile the sockets serve. */
  look(): Promise<void> {
    if (this.isBusy || this.isClosed) return this.work;
    this.isBusy = true;
    this.work = this.follow()
      .catch(async (error: unknown) => {
        this.say(isTaken(error) ? 'another program holds it' : messageOf(error));
        await this.release();
      })
      .finally(() => {
        this.isBusy = false;
      });
    return this.work;
  }

  countQueueDrops(): number | undefined {
    return this.threads ? plus(this.formerDrops, this.threads.countQueueDrops()) : this.formerDrops;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.work;
    await this.release();
  }

  private async follow(): Promise<void> {
    const found = findInterface(this.name);
    const isSame = found && found.index === this.found?.index && found.queues === this.found.queues;
    if (this.attachment && !isSame) await this.release();
    if (!found) {
      this.say('it is not there');
      return;
    }
    if (!this.attachment) await this.open(found);
    else this.serve(found);
  }

  private async open(found: Interface): Promise<void> {
    const { calls, options } = this;
    this.found = found;
    const attachment = createAttachment(calls, found.index, found.queues);
    this.attachment = attachment;
    const workers = Math.min(options.workers, found.queues);
    const threads = new UdpWorkers({
      ...options,
      workers,
      // The threads of sockets have the first numbers.
      engine: { ...options.engine, connect: (worker) => options.engine.connect(options.firstThread - 1 + worker) },
      script: new URL('./worker.js', import.meta.url),
      openSockets: (worker) => this.openQueues(found, attachment, { worker, workers }),
    });
    this.threads = threads;
    try {
      // Without sockets all frames pass, so the program can come first: another one may have the interface.
      this.serve(found);
      await threads.start();
    } catch (error) {
      await this.release();
      throw error;
    }
    this.say(`serving with ${workers} ${workers === 1 ? 'thread' : 'threads'}, in the ${this.mode()}`);
  }

  /** One worker serves each queue whose number leaves the worker's own when divided by the number of workers. */
  private openQueues(
    { index, queues }: Interface,
    attachment: Attachment,
    { worker, workers }: { readonly worker: number; readonly workers: number },
  ): WorkerSockets {
    const opened: Queue[] = [];
    const close = (): void => {
      for (const queue of opened) queue.close();
    };
    try {
      for (let number = worker; number < queues; number += workers) {
        const queue = openQueue(this.calls, index, number, this.facts);
        opened.push(queue);
      }
    } catch (error) {
      close();
      throw error;
    }
    return {
      places: { queues: opened.map(({ place }) => place) },
      // Frames of a queue whose thread does not fill them yet would be lost; without its socket they pass.
      begin() {
        for (const { number, place } of opened) attachment.setSocket(number, place.fd);
      },
      countDrops: () => opened.reduce<number | undefined>((sum, queue) => plus(sum, queue.countDrops()), 0),
      close,
    };
  }

  /** Gives the kernel the addresses of this moment, and the threads the MTU. */
  private serve({ mtu }: Interface): void {
    const { options } = this;
    Atomics.store(new Int32Array(this.facts), 0, Math.max(LEAST_MTU, mtu));
    const addresses = servedAddresses(this.name, options.addresses).slice(0, MOST_ADDRESSES);
    const text = addresses.map((address) => Buffer.from(address).toString('hex')).join();
    if (this.attachment!.mode !== undefined && text === this.addresses) return;
    this.attachment!.serve(addresses, options.port);
    this.addresses = text;
  }

  private mode(): string {
    return this.attachment?.mode === 'driver' ? 'driver' : 'kernel’s general part, which is slower';
  }

  private async release(): Promise<void> {
    const { attachment, threads } = this;
    attachment?.detach();
    await threads?.stop();
    this.formerDrops += threads?.countQueueDrops() ?? 0;
    attachment?.close();
    [this.attachment, this.threads, this.found, this.addresses] = [undefined, undefined, undefined, ''];
  }

  /** Once for each change. */
  private say(what: string): void {
    if (what === this.said) return;
    this.said = what;
    this.options.log.info({ interface: this.name }, `AF_XDP on ${this.name}: ${what}`);
  }

  private refusal(error: unknown): unknown {
    if (!(error instanceof SystemError)) return error;
    const what = `AF_XDP cannot be used on ${this.name}: ${error.message}`;
    const remedies: Readonly<Record<string, string>> = {
      EPERM: 'It needs the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF (before Linux 5.8, CAP_SYS_ADMIN).',
      EBUSY: `Another XDP program has the interface: 'ip link show dev ${this.name}' names it, 'ip link set dev ${this.name} xdp off' removes it.`,
      EEXIST: `Another XDP program has the interface: 'ip link show dev ${this.name}' names it, 'ip link set dev ${this.name} xdp off' removes it.`,
      ENOBUFS: `Raise the limit of locked memory: 'LimitMEMLOCK=infinity' in the service, or 'ulimit -l unlimited'.`,
    };
    return new UserError(what, remedies[error.code] ?? 'It needs Linux 5.9 or later, and a driver that supports XDP.');
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof SystemError && (error.code === 'EBUSY' || error.code === 'EEXIST');
}
