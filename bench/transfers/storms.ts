/**
 * What floods of NOTIFY, of UPDATE and of wrong signatures cost those who ask for names over UDP, and how soon updates are
 * acknowledged and answered.
 */
import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Type } from '../../src/dns/codes.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { parseRdata } from '../../src/dns/rr/registry.js';
import { signMessage, type TsigKey } from '../../src/dns/tsig.js';
import { askWhile, isAnswered, named, spreadOf } from '../latency.js';
import { stop } from '../processes.js';
import { dataDirectoryOf, PROGRAM, startProgram } from '../program.js';
import { writeZone, ZONE } from '../workload.js';
import type { Figures } from '../writes.js';

const NAMES = 10_000;
const SECONDARY = 'secondary.bench';
/** Messages made for a flood, which a thread of its own sends over and over. */
const FLOOD_MESSAGES = 1000;
/** Updates measured, and milliseconds between two: a key may send 50 a second. */
const UPDATES = 300;
const UPDATE_EVERY_MS = 25;
const UPDATE_LIMIT_MS = 5000;
const NOTIFY_FLAGS = 0x2400;
const UPDATE_FLAGS = 0x2800;

export async function measureStorms(directory: string, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'storms-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, NAMES);
  const running = await startProgram(own, zoneFile, port);
  const command = (...args: string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...args], {
      env: { ...process.env, ZONEPLANE_DATA_DIR: dataDirectoryOf(own) },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  try {
    const key = keyOf('update.bench', command('tsig', 'create', 'update.bench', '--zone', ZONE).trim());
    command('zone', 'create', SECONDARY, '--primary', '127.0.0.1#9');
    await sleep(3000);
    const forged = { ...key, secret: new Uint8Array(32) };
    // What is compared: as many questions of the ordinary kind, from the same flooder on the same processors.
    const floods: Readonly<Record<string, () => Uint8Array>> = {
      'flood of questions': () => message(ZONE, 0),
      'flood of NOTIFY': () => message(SECONDARY, NOTIFY_FLAGS),
      'flood of UPDATE': () => updateOf('flood'),
      'flood of wrong signatures': () => signed(updateOf('flood'), forged),
    };
    const calm = await askWhile(port, async () => {});
    const figures: Record<string, number> = { ...named('UDP answers, calm', calm) };
    const at = (times: readonly number[]): number => times[Math.floor(times.length * 0.99)]!;
    let ordinary = Number.NaN;
    for (const [what, make] of Object.entries(floods)) {
      const flood = await startFlood(Array.from({ length: FLOOD_MESSAGES }, make), port);
      const times = await askWhile(port, async () => {});
      const rate = await flood.stop();
      Object.assign(figures, named(`UDP answers, ${what}`, times), { [`${what}, messages/s`]: rate });
      if (Number.isNaN(ordinary)) ordinary = at(times);
      else figures[`${what}, p99 to that beside questions`] = at(times) / ordinary;
      await sleep(2000);
    }
    return { ...figures, ...(await measureUpdates(port, key)) };
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

interface Flood {
  /** Resolves to the messages sent in a second. */
  stop(): Promise<number>;
}

/** Sends the messages from a thread, so that the times of answers do not contain the work of sending. */
async function startFlood(messages: readonly Uint8Array[], port: number): Promise<Flood> {
  const thread = new Worker(new URL('./flood.js', import.meta.url), { workerData: { messages, port } });
  await once(thread, 'online');
  const began = performance.now();
  return {
    async stop() {
      const ended = once(thread, 'exit');
      thread.postMessage('stop');
      const [sent] = (await once(thread, 'message')) as [number];
      await ended;
      return sent / ((performance.now() - began) / 1000);
    },
  };
}

/** One update after the other: until it is acknowledged, and from then until its record is answered. */
async function measureUpdates(port: number, key: TsigKey): Promise<Figures> {
  const socket = createSocket('udp4');
  const acknowledged: number[] = [];
  const visible: number[] = [];
  try {
    for (let i = 0; i < UPDATES; i++) {
      const name = `u${i}`;
      const began = performance.now();
      const rcode = await exchange(socket, port, signed(updateOf(name), key));
      if (rcode !== 0) throw new Error(`an update was answered with ${rcode}`);
      const at = performance.now();
      acknowledged.push(at - began);
      while (!(await isAnswered(socket, port, `${name}.${ZONE}`)));
      visible.push(performance.now() - began);
      await sleep(Math.max(0, UPDATE_EVERY_MS - (performance.now() - began)));
    }
  } finally {
    socket.close();
  }
  return { ...figuresOf('UPDATE acknowledged', acknowledged), ...figuresOf('UPDATE answered', visible) };
}

function figuresOf(what: string, times: readonly number[]): Figures {
  const { p50, p99, longest } = spreadOf(times);
  return { [`${what}, p50 ms`]: p50, [`${what}, p99 ms`]: p99, [`${what}, longest ms`]: longest };
}

/** Resolves to the response code. */
function exchange(socket: Socket, port: number, request: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const take = (answer: Buffer): void => {
      if (answer.readUInt16BE(0) !== ((request[0]! << 8) | request[1]!)) return;
      finish();
      resolve(answer[3]! & 15);
    };
    const timer = setTimeout(() => {
      finish();
      reject(new Error('an update was not answered'));
    }, UPDATE_LIMIT_MS);
    const finish = (): void => {
      clearTimeout(timer);
      socket.off('message', take);
    };
    socket.on('message', take);
    socket.send(request, port, '127.0.0.1');
  });
}

let identifier = 0x8000;

function message(zone: string, flags: number, more?: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter(4096);
  identifier = identifier === 0xffff ? 0x8000 : identifier + 1;
  writer.begin(identifier, flags, { name: parseName(`${zone}.`), type: Type.soa, class: 1 });
  more?.(writer);
  return writer.finish();
}

function updateOf(name: string): Uint8Array {
  const rdata = parseRdata(Type.a, '192.0.2.1', parseName('.'));
  return message(ZONE, UPDATE_FLAGS, (writer) => {
    writer.add('authority', parseName(`${name}.${ZONE}.`), Type.a, 60, rdata);
  });
}

function signed(request: Uint8Array, key: TsigKey): Uint8Array {
  return signMessage(request, key, { time: Math.floor(Date.now() / 1000) }).message;
}

function keyOf(name: string, secret: string): TsigKey {
  return {
    name: parseName(`${name}.`),
    algorithm: 'hmac-sha256',
    secret: new Uint8Array(Buffer.from(secret, 'base64')),
  };
}
