/** One measurement of a server with dnsperf, and how measurements are printed. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { median } from './median.js';
import { cpuSeconds, type Started } from './processes.js';

/** Cases over connections, named as dnsperf names its modes. */
export const STREAMS: readonly string[] = ['tcp', 'dot'];

export interface Sample {
  readonly server: string;
  readonly case: string;
  /** Microseconds of processor time per answer. */
  readonly cpuMicros: number;
  readonly answersPerSecond: number;
  readonly lostPercent: number;
  readonly latencyMicros: number;
}

interface Load {
  /** Length of the measurement. */
  readonly seconds: string;
  /** Questions have DO. */
  readonly dnssec?: boolean;
  /** Sockets that ask, over UDP. */
  readonly clients?: string;
}

/** One dnsperf run against one server, on the other processor. */
export function measure(
  started: Started,
  kind: string,
  queries: string,
  { seconds, dnssec = false, clients = '1' }: Load,
): Sample {
  const port = kind === 'dot' ? started.port + 1 : started.port;
  const load = ['-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', seconds, '-q', '200', dnssec ? '-D' : '-e'];
  if (STREAMS.includes(kind)) load.push('-m', kind, '-c', '10');
  else load.push('-c', clients);
  const command = availableParallelism() > 1 ? ['taskset', '-c', '1', 'dnsperf', ...load] : ['dnsperf', ...load];
  const before = cpuSeconds(started);
  const result = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' });
  const used = cpuSeconds(started) - before;
  if (result.status !== 0) throw new Error(`dnsperf failed: ${result.stderr}`);
  const figure = (pattern: RegExp): number => Number(pattern.exec(result.stdout)?.[1] ?? Number.NaN);
  const answered = figure(/Queries completed:\s+(\d+)/);
  return {
    server: started.name,
    case: kind,
    cpuMicros: (used / answered) * 1e6,
    answersPerSecond: figure(/Queries per second:\s+([\d.]+)/),
    lostPercent: figure(/Queries lost:\s+\d+ \(([\d.]+)%\)/),
    latencyMicros: figure(/Average Latency \(s\):\s+([\d.]+)/) * 1e6,
  };
}

/** Medians with their spread, and the ratio of our CPU time to each server's, round by round. `own`: our name. */
export function printCase(kind: string, all: readonly Sample[], own = 'zoneplane'): void {
  const samples = all.filter((sample) => sample.case === kind);
  const ours = samples.filter(({ server }) => server === own);
  process.stdout.write(
    `\n${kind}\n${'server'.padEnd(20)}${'CPU µs/answer'.padStart(22)}${'ours/its CPU'.padStart(22)}${'answers/s'.padStart(12)}${'lost %'.padStart(8)}${'latency µs'.padStart(12)}\n`,
  );
  for (const server of new Set(samples.map((sample) => sample.server))) {
    const its = samples.filter((sample) => sample.server === server);
    const ratios = its.map((sample, round) => (ours[round]?.cpuMicros ?? Number.NaN) / sample.cpuMicros);
    process.stdout.write(
      server.padEnd(20) +
        spread(its.map(({ cpuMicros }) => cpuMicros)).padStart(22) +
        spread(ratios).padStart(22) +
        median(its.map(({ answersPerSecond }) => answersPerSecond))
          .toFixed(0)
          .padStart(12) +
        median(its.map(({ lostPercent }) => lostPercent))
          .toFixed(2)
          .padStart(8) +
        median(its.map(({ latencyMicros }) => latencyMicros))
          .toFixed(0)
          .padStart(12) +
        '\n',
    );
  }
}

/** `median (min–max)`. */
function spread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
}
