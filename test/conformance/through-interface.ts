/**
 * With ZONEPLANE_CONFORMANCE_XDP=1, as root, the suites that compare answers get those over UDP through a network interface, past the
 * network stack: every other one over IPv4 and IPv6.
 */
import { MessageChannel } from 'node:worker_threads';
import type { Test } from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { type Served, serveAtInterface } from '../server/xdp/world.js';
import type { ServedZones } from '../support/served-zones.js';

export type AskThroughInterface = (queries: readonly Buffer[]) => Promise<(Buffer | undefined)[]>;

const IS_WANTED = process.env['ZONEPLANE_CONFORMANCE_XDP'] === '1';
let count = 0;

/** For zones that are served from memory. */
export function servedFromMemory({ answer, writer }: Pick<ServedZones, 'answer' | 'writer'>): Served {
  const data = { image: writer.current(), settings: DEFAULT_ENGINE_SETTINGS };
  return { answer, connect: () => ({ data, port: new MessageChannel().port2 }) };
}

/** Undefined: the engine is asked. */
export async function throughInterface(t: Test, served: Served): Promise<AskThroughInterface | undefined> {
  if (!IS_WANTED) return undefined;
  const ask = await serveAtInterface(t, `zpc${process.pid.toString(36)}${count++}`, 1500, served);
  const askBoth: AskThroughInterface = async (queries) => {
    const half = (rest: number): Buffer[] => queries.filter((_, index) => index % 2 === rest);
    const [even, odd] = [await ask('IPv4', half(0)), await ask('IPv6', half(1))];
    return queries.map((_, index) => (index % 2 === 0 ? even : odd)[index >> 1]);
  };
  return async (queries) => {
    const answers = await askBoth(queries);
    const lost = queries.flatMap((query, index) => (answers[index] ? [] : [{ query, index }]));
    if (lost.length === 0) return answers;
    // It is not a wrong answer: those are compared once there is one.
    t.fail(`${lost.length} of ${queries.length} queries were lost, the first one ${lost[0]!.query.toString('hex')}`);
    const found = await askBoth(lost.map(({ query }) => query));
    for (const [at, { index }] of lost.entries()) answers[index] = found[at];
    return answers;
  };
}
