/** Measures the latency of DNS answers while other work runs. */
import { createSocket, type Socket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZONE } from './workload.js';

/** Milliseconds between two questions, and how many there are. */
const QUESTION_EVERY_MS = 2;
const QUESTIONS = 1500;

/** Milliseconds DNS answers take while something else is done over and over; the ones that never came count as 1000. */
export async function askWhile(port: number, work: () => Promise<void>): Promise<number[]> {
  const socket = createSocket('udp4');
  const sentAt = new Float64Array(QUESTIONS);
  const times = new Float64Array(QUESTIONS).fill(1000);
  const query = Buffer.concat([
    Buffer.from('000001000001000000000000', 'hex'),
    ...`ns1.${ZONE}`.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from('0000010001', 'hex'),
  ]);
  socket.on('message', (answer) => {
    const id = answer.readUInt16BE(0);
    times[id] = performance.now() - sentAt[id]!;
  });
  let asking = true;
  const working = (async () => {
    while (asking) {
      await work();
      await sleep(1);
    }
  })();
  for (let id = 0; id < QUESTIONS; id++) {
    query.writeUInt16BE(id, 0);
    sentAt[id] = performance.now();
    socket.send(query, port, '127.0.0.1');
    await sleep(QUESTION_EVERY_MS);
  }
  await sleep(1000);
  asking = false;
  await working;
  socket.close();
  return [...times].sort((a, b) => a - b);
}

/** The median and the 99th of a hundred, of sorted times. */
export function named(what: string, sorted: readonly number[]): Record<string, number> {
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)]!;
  return { [`${what}, p50 ms`]: at(0.5), [`${what}, p99 ms`]: at(0.99) };
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
}

export function spreadOf(unsorted: readonly number[]): Spread {
  const sorted = [...unsorted].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
  return { p50: at(0.5), p99: at(0.99), longest: sorted.at(-1)! };
}

let identifier = 0;

/** Whether a server on 127.0.0.1 answers the name with NOERROR; a lost answer counts as no. */
export function isAnswered(socket: Socket, port: number, name: string): Promise<boolean> {
  const wire = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  identifier = (identifier + 1) & 0xffff;
  const id = identifier;
  const query = Buffer.from([id >> 8, id & 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...wire, 0, 0, 1, 0, 1]);
  return new Promise((resolve) => {
    const finish = (found: boolean): void => {
      clearTimeout(timer);
      socket.off('message', take);
      resolve(found);
    };
    const take = (answer: Buffer): void => {
      if (answer.readUInt16BE(0) === id) finish((answer[3]! & 15) === 0);
    };
    const timer = setTimeout(() => finish(false), 100);
    socket.on('message', take);
    socket.send(query, port, '127.0.0.1');
  });
}
