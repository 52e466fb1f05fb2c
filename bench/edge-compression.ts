/**
 * Compression of 64 KiB of text at the edge and in nginx, with the same level of gzip: each time anew, and from the cache, beside the
 * same requests without compression. By processor time, which other programs on the machine disturb little.
 */
import { type Load, load } from './edge-load.js';
import { type Front, STORED_TEXT, TEXT } from './edge-servers.js';
import { median } from './median.js';
import { cpuSeconds } from './processes.js';
import type { Figures } from './writes.js';

interface Options {
  readonly rounds: number;
  readonly requests: number;
  /** The processor of the load. */
  readonly cpu: number;
}

const KINDS: Readonly<Record<string, { readonly path: string; readonly codings: readonly string[] }>> = {
  'made anew': { path: TEXT, codings: ['gzip', 'br', 'zstd', 'identity'] },
  'from the cache': { path: STORED_TEXT, codings: ['gzip', 'identity'] },
};

export async function measureCompression(edge: Front, nginx: Front, options: Options): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [kind, { path, codings }] of Object.entries(KINDS)) {
    const ours = new Map<string, number[]>();
    const theirs = new Map<string, number[]>();
    for (let round = -1; round < options.rounds; round++) {
      for (const coding of codings) {
        const micros = await measure(edge, path, coding, options);
        if (round >= 0) ours.set(coding, [...(ours.get(coding) ?? []), micros]);
      }
      for (const coding of ['gzip', 'identity']) {
        const micros = await measure(nginx, path, coding, options);
        if (round >= 0) theirs.set(coding, [...(theirs.get(coding) ?? []), micros]);
      }
    }
    for (const [name, all] of [['edge', ours] as const, ['nginx', theirs] as const]) {
      for (const [coding, micros] of all) figures[`${name} ${coding} ${kind}, CPU µs`] = median(micros);
    }
    const [zipped, plain] = [ours.get('gzip')!, ours.get('identity')!];
    const [theirZipped, theirPlain] = [theirs.get('gzip')!, theirs.get('identity')!];
    const ratio = (of: (round: number) => number): number => median(zipped.map((_, i) => of(i)));
    figures[`gzip ${kind}: of nginx's CPU`] = ratio((i) => zipped[i]! / theirZipped[i]!);
    if (path === STORED_TEXT)
      figures['gzip from the cache: of the plain form (bar 1)'] = ratio((i) => zipped[i]! / plain[i]!);
    else {
      const alone = (i: number): number => (zipped[i]! - plain[i]!) / (theirZipped[i]! - theirPlain[i]!);
      figures["gzip made anew, without what a plain response costs: of nginx's (bar 1)"] = ratio(alone);
    }
  }
  return figures;
}

/** Microseconds of a request. */
async function measure(front: Front, path: string, coding: string, { requests, cpu }: Options): Promise<number> {
  const wanted: Load = { ...{ scheme: 'http', version: 'h1', path, head: 'bare' }, connections: 8, requests, cpu };
  const before = cpuSeconds(front);
  const { answered } = await load(front.ports, wanted, ['-H', `Accept-Encoding: ${coding}`]);
  return ((cpuSeconds(front) - before) / answered) * 1e6;
}
