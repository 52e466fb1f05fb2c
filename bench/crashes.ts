/**
 * How long DNS is away: at a start, after kill -9 of the DNS process, after four of them in a row, and while another `serve`
 * takes over from one that a slow client keeps from finishing.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, childrenOf, cpuSecondsOf, stop } from './processes.js';
import { environmentOf, PROGRAM, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const QUESTION = `ns1.${ZONE}`;
const ASK_LIMIT_MS = 20;
const ROUNDS = 3;
const KILLS = 4;

export async function measureCrashes(directory: string, names: number, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'crashes-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const running = await startProgram(own, zoneFile, port);
  const supervisor = running.server.process.pid!;
  const figures: Record<string, number> = { 's, start to first answer': running.server.startMs / 1000 };
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const { seconds, cpu } = await kill(supervisor, port);
      figures[`s, kill to first answer, round ${round}`] = seconds;
      figures[`s of processor time of the new process, round ${round}`] = cpu;
      await sleep(2000);
    }
    for (let i = 1; i <= KILLS; i++)
      figures[`s, kill ${i} in a row to first answer`] = (await kill(supervisor, port)).seconds;
    figures['s, longest gap while another serve takes over beside a slow reader'] = await takeOver(own, port);
    figures.load = loadavg()[0]!;
  } finally {
    running.api.close();
    await stop(running.server);
  }
  return figures;
}

async function kill(supervisor: number, port: number): Promise<{ readonly seconds: number; readonly cpu: number }> {
  const { dns } = childrenOf(supervisor);
  process.kill(dns, 'SIGKILL');
  const began = performance.now();
  while (!(await answers(port, QUESTION, ASK_LIMIT_MS)));
  const seconds = (performance.now() - began) / 1000;
  return { seconds, cpu: cpuSecondsOf(childrenOf(supervisor).dns) };
}

/** The longest time without an answer, in seconds, from before the new server starts until the old one has ended. */
async function takeOver(directory: string, port: number): Promise<number> {
  const reader = slowReader(port);
  await sleep(500);
  const args = [PROGRAM, 'serve', '--take-over'];
  const env = { ...process.env, ...environmentOf(directory, port, {}) };
  const next = spawn(process.execPath, args, { env, stdio: 'ignore' });
  let longest = 0;
  let last = performance.now();
  const until = last + TAKE_OVER_MS;
  while (performance.now() < until) {
    if (!(await answers(port, QUESTION, ASK_LIMIT_MS))) continue;
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  reader.destroy();
  next.kill('SIGTERM');
  await new Promise((resolve) => next.once('exit', resolve));
  return longest / 1000;
}

const TAKE_OVER_MS = 60_000;

/** Asks over TCP all the time and reads nothing. */
function slowReader(port: number): ReturnType<typeof connect> {
  const labels = QUESTION.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  const query = Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
  const message = Buffer.concat([Buffer.from([0, query.length]), query]);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  for (let i = 0; i < 20_000; i++) socket.write(message);
  return socket;
}
