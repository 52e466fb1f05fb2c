/**
 * Every question asked of NSD, Knot, BIND and us, answers compared by meaning: see verdict.ts for who is right.
 *
 * ZONEPLANE_CONFORMANCE_SEED makes other zones, ZONEPLANE_CONFORMANCE_ROUNDS (default 1) goes on with the seeds that follow.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { DecodedMessage } from '../support/message.js';
import { missingReferences, type ReferenceName, startReferences } from '../support/reference-servers.js';
import { serveZones, type ZoneSource } from '../support/served-zones.js';
import { type AskedZone, exchange } from './comparison.js';
import { meaningOf } from './meaning.js';
import { printQuestion, questionsOf, WAYS } from './questions.js';
import { makeRandomZones } from './random-zones.js';
import { judge } from './verdict.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 2178548);
const ROUNDS = Number(process.env['ZONEPLANE_CONFORMANCE_ROUNDS'] ?? 1);
const ZONES = 150;
const QUESTIONS = 60;

const TOPICS = fileURLToPath(new URL('../../../test/vectors/conformance/', import.meta.url));

interface Tally {
  compared: number;
  readonly agreed: Map<ReferenceName, number>;
  readonly loaded: Map<ReferenceName, number>;
  /** Answers by what decided over them. */
  readonly decided: Map<string, number>;
  readonly faults: string[];
}

const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

for (let round = 0; round < ROUNDS; round++) {
  const seed = SEED + round;
  t.test(`random zones, seed ${seed}`, { skip, timeout: 240_000 }, async (t) => {
    const tally = await compare(makeRandomZones(seed, ZONES, QUESTIONS));
    t.ok(tally.compared > ZONES * QUESTIONS, 'the references were asked');
    t.ok(tally.decided.get('unanimous')! > tally.compared * 0.8, 'and mostly agreed');
    t.strictSame(tally.faults.slice(0, 4), [], `all is right (repeat with ZONEPLANE_CONFORMANCE_SEED=${seed})`);
    report(t, tally);
  });
}

for (const file of readdirSync(TOPICS).filter((name) => name.endsWith('.zone'))) {
  t.test(file.replace('.zone', ''), { skip, timeout: 240_000 }, async (t) => {
    const zones = readZones(readFileSync(`${TOPICS}${file}`, 'utf8'));
    const tally = await compare(zones.map((zone) => ({ ...zone, questions: questionsOf(zone) })));
    t.ok(tally.decided.get('unanimous')! > tally.compared * 0.8, `${zones.length} zones; the references mostly agree`);
    t.strictSame(tally.faults.slice(0, 4), [], 'all is right');
    report(t, tally);
  });
}

/** Zones written by hand, several a file, each beginning at its $ORIGIN. */
function readZones(text: string): ZoneSource[] {
  return text
    .split(/^(?=\$ORIGIN )/m)
    .slice(1)
    .map((part) => ({ apex: /^\$ORIGIN (\S+)/.exec(part)![1]!, text: part }));
}

async function compare(zones: readonly AskedZone[]): Promise<Tally> {
  const ours = serveZones(zones);
  const references = await startReferences(zones);
  const tally: Tally = { compared: 0, agreed: new Map(), loaded: new Map(), decided: new Map(), faults: [] };
  const count = <K>(counts: Map<K, number>, key: K): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  try {
    for (const way of WAYS) {
      await exchange(way, zones, ours, references, (heard) => {
        const { by, fault, agreed } = judge(heard);
        tally.compared++;
        count(tally.decided, by);
        for (const name of heard.theirs.keys()) count(tally.loaded, name);
        for (const name of agreed) count(tally.agreed, name);
        if (fault === undefined) return;
        const theirs = [...heard.theirs].map(([name, answer]) => `${name} ${printMeaning(answer)}`);
        const question = `${way} ${printQuestion(heard.question)} of ${heard.apex}`;
        tally.faults.push([`${fault}, ${by}: ${question}`, ...theirs, `we ${printMeaning(heard.ours)}`].join('\n'));
      });
    }
  } finally {
    await references.stop();
  }
  for (const [apex, reason] of ours.refused) tally.faults.push(`${apex} is refused: ${reason}`);
  return tally;
}

/** For people: rdata as characters. */
function printMeaning(answer: DecodedMessage): string {
  return JSON.stringify(meaningOf(answer)).replace(/\b(?:[0-9a-f]{2}){3,}\b/g, (rdata) =>
    Buffer.from(rdata, 'hex')
      .toString('latin1')
      .replace(/[^!-~]/g, '.'),
  );
}

function report(t: { comment(text: string): void }, { compared, agreed, loaded, decided }: Tally): void {
  const shares = [...agreed].map(([name, count]) => `${name} ${((100 * count) / loaded.get(name)!).toFixed(2)} %`);
  const rulings = [...decided].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} ${count}`);
  t.comment(`${compared} answers; the same as ${shares.sort().join(', ')}; decided by ${rulings.join(', ')}`);
}
