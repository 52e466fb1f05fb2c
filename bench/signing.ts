/** What signing a whole zone costs (P-256, NSEC), beside `ldns-signzone`, in turn. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './median.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const SIGNER = fileURLToPath(new URL('./sign-zone.js', import.meta.url));

interface Signed {
  readonly cpuMs: number;
  readonly ms: number;
  readonly megabytes: number;
}

export async function measureSigning(directory: string, names: number, rounds: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'signing-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const keys = ['', '-k'].map((kind) => newKey(own, kind));
  const times = { one: [] as Signed[], two: [] as Signed[], ldns: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const ldns = signByLdns(own, keys);
    const one = sign(own, zoneFile, 1);
    times.ldns.push(ldns);
    times.one.push(one);
    times.two.push(sign(own, zoneFile, 2));
    times.ratio.push(one.cpuMs / ldns);
  }
  const signatures = readFileSync(join(own, 'signed'), 'latin1').split('\tRRSIG\t').length - 1;
  const of = (list: readonly Signed[], key: keyof Signed): number => median(list.map((signed) => signed[key]));
  return {
    signatures,
    'µs of processor time a signature, ldns-signzone': (median(times.ldns) / signatures) * 1000,
    'µs of processor time a signature, one thread': (of(times.one, 'cpuMs') / signatures) * 1000,
    'ours/ldns-signzone, processor time': median(times.ratio),
    's, one thread': of(times.one, 'ms') / 1000,
    's, two threads': of(times.two, 'ms') / 1000,
    'MB at most, two threads': of(times.two, 'megabytes'),
    load: loadavg()[0]!,
  };
}

function newKey(directory: string, kind: string): string {
  const args = [...(kind === '' ? [] : [kind]), '-a', 'ECDSAP256SHA256', ZONE];
  const made = spawnSync('ldns-keygen', args, { cwd: directory, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`ldns-keygen: ${made.stderr}`);
  return made.stdout.trim();
}

/** Milliseconds of processor time. */
function signByLdns(directory: string, keys: readonly string[]): number {
  const command = `ldns-signzone -o ${ZONE}. -f signed zone ${keys.join(' ')} && times`;
  const done = spawnSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`ldns-signzone: ${done.stderr}`);
  // The second line is that of the children: minutes and seconds, as user and system.
  const times = [...done.stdout.split('\n')[1]!.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0);
}

function sign(directory: string, zoneFile: string, threads: number): Signed {
  const data = mkdtempSync(join(directory, 'data-'));
  const done = spawnSync(process.execPath, [SIGNER, zoneFile, ZONE, String(threads), data], { encoding: 'utf8' });
  rmSync(data, { recursive: true });
  if (done.status !== 0) throw new Error(done.stderr);
  return JSON.parse(done.stdout) as Signed;
}
