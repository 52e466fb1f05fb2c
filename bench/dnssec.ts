/**
 * Answers with DO: a zone signed with NSEC and with NSEC3, served by us and the installed servers, beside the unsigned zone
 * served by us.
 */
import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measure, printCase, type Sample } from './dnsperf.js';
import { makeCertificate, PEERS } from './peers.js';
import { memoryOctets, type Started, start, stop } from './processes.js';
import { type Case, writeQueries, writeZone, ZONE } from './workload.js';

const SERVER = fileURLToPath(new URL('./signed-server.js', import.meta.url));
const QUESTION = `ns1.${ZONE}`;
const CASES: readonly Case[] = ['found', 'mix', 'nxdomain', 'nodata', 'referral', 'wildcard'];
const UNSIGNED = 'zoneplane, unsigned';

export interface DnssecOptions {
  readonly directory: string;
  readonly names: number;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: string;
  /** Servers run on one processor, the questions come from another one. */
  readonly taskset: boolean;
}

export async function measureDnssec(options: DnssecOptions): Promise<Sample[]> {
  const { directory, names } = options;
  const zoneFile = join(directory, 'unsigned-zone');
  await writeZone(zoneFile, names);
  for (const kind of CASES) writeQueries(join(directory, `dnssec-${kind}`), kind, names);
  const samples: Sample[] = [];
  for (const [index, denial] of ['nsec', 'nsec3'].entries()) {
    const running: Started[] = [];
    try {
      const port = 20700 + index * 40;
      await startServers(options, denial, zoneFile, port, running);
      for (const kind of CASES) {
        const name = `${kind}, ${denial}`;
        const queries = join(directory, `dnssec-${kind}`);
        for (let round = 0; round < options.rounds; round++) {
          for (const started of running) {
            samples.push({
              ...measure(started, kind, queries, { seconds: options.seconds, dnssec: true }),
              case: name,
            });
          }
        }
        printCase(name, samples, `zoneplane, ${denial}`);
      }
      process.stdout.write('\nmemory (PSS of all processes)\n');
      for (const started of running) {
        process.stdout.write(`${started.name.padEnd(20)}${(memoryOctets(started) / 1e6).toFixed(1).padStart(10)} MB\n`);
      }
    } finally {
      for (const started of running) await stop(started);
    }
  }
  return samples;
}

async function startServers(
  { directory, taskset }: DnssecOptions,
  denial: string,
  zoneFile: string,
  port: number,
  running: Started[],
): Promise<void> {
  const cpu = taskset ? 0 : undefined;
  const pin = cpu === undefined ? {} : { cpu };
  const signedFile = join(directory, `${denial}-zone`);
  const ours = (name: string, kind: string, at: number): Promise<Started> =>
    start(name, [process.execPath, SERVER, zoneFile, `${ZONE}.`, String(at), kind, signedFile], at, QUESTION, pin);
  running.push(await ours(UNSIGNED, 'none', port));
  running.push(await ours(`zoneplane, ${denial}`, denial, port + 2));
  const certificate = makeCertificate(directory);
  // PowerDNS makes NSEC3 records from its own order of names, which also has the hashes of a signed file.
  const names = ['nsd', 'knot', 'bind', ...(denial === 'nsec' ? ['pdns'] : [])];
  for (const [index, peer] of PEERS.filter(({ name }) => names.includes(name)).entries()) {
    if (!existsSync(peer.program)) continue;
    const own = mkdtempSync(join(directory, `${peer.name}-${denial}-`));
    const at = port + 4 + index * 2;
    const tls = { ...certificate, port: at + 1 };
    running.push(
      await peer.start({ directory: own, zoneFile: signedFile, port: at, cpu, workers: 1, presigned: true, tls }),
    );
  }
}
