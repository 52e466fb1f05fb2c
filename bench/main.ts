/**
 * `npm run bench`: CPU time per query, answers per second, memory and start-up time of Zoneplane and of the installed
 * servers, in interleaved rounds on one machine. Machines are noisy: compare only the ratios between servers of one
 * run.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureBackups } from './backup.js';
import { CLUSTER_SECTIONS, measureCluster } from './cluster.js';
import { measureCrashes } from './crashes.js';
import { measure, printCase, type Sample, STREAMS } from './dnsperf.js';
import { measureDnssec } from './dnssec.js';
import { EDGE_SECTIONS, measureEdge } from './edge.js';
import { GROWTH_SECTIONS, measureGrowth } from './growth.js';
import { measureHostnames } from './hostnames.js';
import { measureLists } from './lists.js';
import { measureObjects, OBJECT_SECTIONS } from './objects/objects.js';
import { makeCertificate, PEERS, type Peer } from './peers.js';
import { memoryOctets, type Started, stop } from './processes.js';
import { measureRules } from './rules.js';
import { measureSeam } from './seam.js';
import { GREEDY_WORK, measureShares } from './shares.js';
import { measureSignedCreations } from './signed-creations.js';
import { measureSigning } from './signing.js';
import { measureStalls } from './stalls.js';
import { measureSteering } from './steering.js';
import { measureSynthesis } from './synthesis.js';
import { measureTransfers, TRANSFER_SECTIONS } from './transfers/transfers.js';
import { measureTransitions } from './transitions.js';
import { measureWeb } from './web/web.js';
import { CASES, type Case, writeQueries, writeZone } from './workload.js';
import { type Figures, measureLoading, measureWrites } from './writes.js';

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'answers' },
    cases: { type: 'string', default: [...CASES, ...STREAMS].join(',') },
    servers: { type: 'string', default: PEERS.map(({ name }) => name).join(',') },
    edge: { type: 'string', default: EDGE_SECTIONS.join(',') },
    transfers: { type: 'string', default: TRANSFER_SECTIONS.join(',') },
    objects: { type: 'string', default: OBJECT_SECTIONS.join(',') },
    growth: { type: 'string', default: GROWTH_SECTIONS.join(',') },
    shares: { type: 'string', default: Object.keys(GREEDY_WORK).join(',') },
    stalls: { type: 'string', default: '' },
    cluster: { type: 'string', default: CLUSTER_SECTIONS.join(',') },
    names: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    requests: { type: 'string', default: '20000' },
    changes: { type: 'string', default: '200' },
    workers: { type: 'string', default: '1' },
    clients: { type: 'string', default: '1' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const taskset = availableParallelism() > 1;
const names = Number(values.names);
const rounds = Number(values.rounds);

/** Parts that ask servers questions in turn. */
const SAMPLED: Readonly<Record<string, (directory: string) => Promise<Sample[]>>> = {
  answers: (directory) => measureAnswers(directory, names),
  dnssec: (directory) => measureDnssec({ directory, names, rounds, seconds: values.seconds, taskset }),
};

/** Parts with figures of their own. */
const MEASURED: Readonly<Record<string, (directory: string) => Promise<Figures>>> = {
  writes: (directory) => measureWrites({ directory, names, port: 20630, changes: 500, taskset }),
  seam: (directory) => measureSeam(directory, rounds),
  'signed-creations': (directory) => measureSignedCreations(directory, 20635, rounds),
  stalls: (directory) => measureStalls(directory, 20785, { names, wanted: values.stalls }),
  crashes: (directory) => measureCrashes(directory, names, 20790),
  signing: (directory) => measureSigning(directory, names, rounds),
  loading: (directory) => measureLoading(directory, names, existsSync('/usr/bin/pdnsutil')),
  objects: (directory) => measureObjects(directory, 21500, { rounds, sections: values.objects.split(',') }),
  backup: (directory) => measureBackups(directory, names, 20645),
  steering: (directory) => measureSteering(directory, 20655, rounds, taskset),
  transitions: (directory) => measureTransitions(directory),
  synthesis: (directory) => measureSynthesis(directory, 20650, taskset),
  growth: (directory) => {
    const sections = values.growth.split(',');
    return measureGrowth({ directory, names, port: 21600, rounds, seconds: values.seconds, sections });
  },
  lists: (directory) => measureLists(directory, names, 20660),
  rules: () => measureRules(),
  shares: (directory) => measureShares({ directory, names, port: 20665, sections: values.shares.split(',') }),
  web: (directory) => measureWeb(directory, 20680, taskset),
  hostnames: (directory) => measureHostnames(directory, 20670),
  edge: (directory) =>
    measureEdge(directory, 20800, { rounds, requests: Number(values.requests), sections: values.edge.split(',') }),
  cluster: (directory) => measureCluster({ directory, port: 21100, names, sections: values.cluster.split(',') }),
  transfers: (directory) => {
    const sections = values.transfers.split(',');
    return measureTransfers(directory, 20900, { sections, changes: Number(values.changes), names, rounds, taskset });
  },
};

const PARTS: readonly string[] = [...Object.keys(SAMPLED), ...Object.keys(MEASURED)];

const HELP = `Usage: npm run bench -- [options]

  --parts LIST     of ${PARTS.join(', ')}
                   (default: answers)
  --cases LIST     of ${CASES.join(', ')}, tcp, dot (default: all)
  --servers LIST   of ${PEERS.map(({ name }) => name).join(', ')} (default: all that are installed)
  --edge LIST      of ${EDGE_SECTIONS.join(', ')} (default: all)
  --transfers LIST of ${TRANSFER_SECTIONS.join(', ')} (default: all)
  --objects LIST   of ${OBJECT_SECTIONS.join(', ')} (default: all)
  --shares LIST    of ${Object.keys(GREEDY_WORK).join(', ')} (default: all)
  --growth LIST    of ${GROWTH_SECTIONS.join(', ')} (default: all)
  --stalls TEXT    only operations with this in their name (default: all)
  --cluster LIST   of ${CLUSTER_SECTIONS.join(', ')} (default: all)
  --names N        host names in the zone (default 100000)
  --rounds N       interleaved rounds (default 5)
  --seconds N      length of one measurement (default 4)
  --requests N     of one measurement of the edge (default 20000)
  --changes N      changes that secondaries follow (default 200)
  --clients N      sockets from which UDP is asked (default 1)
  --workers N      answering threads of every server (default 1)
  --json FILE      write all figures there too
  --help

Examples:
  npm run bench -- --cases mix,nxdomain --servers zoneplane,nsd,knot,echo --rounds 7
  npm run bench -- --parts writes,loading
  npm run bench -- --parts edge --edge speed --rounds 5
  npm run bench -- --parts cluster --names 600000
  npm run bench -- --workers 2 --cases mix
`;

if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const parts = values.parts.split(',');
  const unknown = parts.find((part) => !PARTS.includes(part));
  if (unknown !== undefined) {
    process.stderr.write(`There is no part called ${unknown}.\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-bench-'));
  try {
    const samples: Sample[] = [];
    for (const part of parts) samples.push(...((await SAMPLED[part]?.(directory)) ?? []));
    const figures: Record<string, Figures> = {};
    for (const part of parts) {
      const measure = MEASURED[part];
      if (!measure) continue;
      figures[part] = await measure(directory);
      printFigures(part, figures[part]);
    }
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify({ machine: machine(), samples, ...figures }, undefined, 1)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function printFigures(part: string, figures: Figures): void {
  process.stdout.write(`\n${part}\n`);
  for (const [what, figure] of Object.entries(figures)) {
    process.stdout.write(`${what.padEnd(76)}${figure.toFixed(figure < 100 ? 2 : 0).padStart(12)}\n`);
  }
}

async function measureAnswers(directory: string, names: number): Promise<Sample[]> {
  const running: { peer: Peer; started: Started }[] = [];
  const workers = Number(values.workers);
  try {
    const zoneFile = join(directory, 'zone');
    await writeZone(zoneFile, names);
    const certificate = makeCertificate(directory);
    const wanted = values.servers.split(',');
    for (const [index, peer] of PEERS.filter(({ name }) => wanted.includes(name)).entries()) {
      if (peer.program !== 'node' && !existsSync(peer.program)) {
        process.stdout.write(`${peer.name}: not installed, left out\n`);
        continue;
      }
      const own = mkdtempSync(join(directory, `${peer.name}-`));
      const cpu = availableParallelism() > 1 && workers === 1 ? 0 : undefined;
      const port = 20530 + index * 2;
      const started = await peer.start({
        directory: own,
        zoneFile,
        port,
        cpu,
        workers,
        tls: { ...certificate, port: port + 1 },
      });
      running.push({ peer, started });
      process.stdout.write(`${peer.name}: answers after ${started.startMs.toFixed(0)} ms\n`);
    }
    const samples: Sample[] = [];
    for (const kind of values.cases.split(',')) {
      const queries = join(directory, `queries-${kind}`);
      writeQueries(queries, STREAMS.includes(kind) ? 'mix' : (kind as Case), names);
      const able = running.filter(({ peer }) => kind !== 'dot' || peer.speaksTls);
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const { started } of able)
          samples.push(measure(started, kind, queries, { seconds: values.seconds, clients: values.clients }));
      }
      printCase(kind, samples);
    }
    printMemory(running);
    return samples;
  } finally {
    for (const { started } of running) await stop(started);
  }
}

function printMemory(running: readonly { readonly started: Started }[]): void {
  process.stdout.write(`\nmemory (PSS of all processes)\n`);
  for (const { started } of running) {
    process.stdout.write(`${started.name.padEnd(20)}${(memoryOctets(started) / 1e6).toFixed(1).padStart(10)} MB\n`);
  }
}

function machine(): string {
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} processors, node ${process.version}`;
}
