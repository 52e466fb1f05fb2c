/** The threads that make many signatures, so that the admin process answers meanwhile. They start when they are needed. */
import { Worker } from 'node:worker_threads';
import type { SignatureOrder, SignerThreads } from '../../kernel/zone-keys.js';
import { packOrders, type SignedMessage, unpackOctets } from './order.js';

/** Signatures that a thread makes at once, which takes about ten milliseconds. */
const AT_ONCE = 256;

interface Task {
  readonly orders: readonly SignatureOrder[];
  readonly resolve: (made: Uint8Array[]) => void;
  readonly reject: (error: Error) => void;
}

interface Seat {
  readonly thread: Worker;
  task: Task | undefined;
}

/** `count`: the largest number of threads. They do not keep the process alive. */
export function createSignerThreads(count: number): SignerThreads {
  const seats = new Set<Seat>();
  const waiting: Task[] = [];

  const openSeat = (): Seat => {
    const thread = new Worker(new URL('./signer-thread.js', import.meta.url), { name: 'signer' });
    const seat: Seat = { thread, task: undefined };
    const end = (error: Error): void => {
      seats.delete(seat);
      seat.task?.reject(error);
      seat.task = undefined;
      next();
    };
    thread.on('message', ({ ends, signatures }: SignedMessage) => {
      const { task } = seat;
      seat.task = undefined;
      task?.resolve(unpackOctets(ends, signatures));
      next();
    });
    thread.on('error', end);
    thread.on('exit', () => end(new Error('a signer thread has ended')));
    seats.add(seat);
    return seat;
  };

  function next(): void {
    while (waiting.length > 0) {
      const seat = [...seats].find(({ task }) => !task) ?? (seats.size < count ? openSeat() : undefined);
      if (!seat) return;
      seat.task = waiting.shift()!;
      seat.thread.ref();
      const message = packOrders(seat.task.orders);
      const { keyOf, ends, octets } = message;
      seat.thread.postMessage(message, [keyOf.buffer, ends.buffer, octets.buffer] as ArrayBuffer[]);
    }
    for (const { thread, task } of seats) if (!task) thread.unref();
  }

  return {
    async sign(orders) {
      const parts: Promise<Uint8Array[]>[] = [];
      for (let at = 0; at < orders.length; at += AT_ONCE) {
        const some = orders.slice(at, at + AT_ONCE);
        parts.push(new Promise((resolve, reject) => waiting.push({ orders: some, resolve, reject })));
      }
      next();
      return (await Promise.all(parts)).flat();
    },
  };
}
