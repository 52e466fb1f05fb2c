/**
 * Every question asked of NSD, Knot, BIND and us, answers compared by meaning: see verdict.ts for who is right.
 *
 * ZONEPLANE_CONFORMANCE_SEED makes other zones, ZONEPLANE_CONFORMANCE_ROUNDS (default 1) goes on with the seeds that follow.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { missingReferences } from '../support/reference-servers.js';
import { serveZones, type ZoneSource } from '../support/served-zones.js';
import type { AskedZone } from './comparison.js';
import { questionsOf, WAYS } from './questions.js';
import { makeRandomZones } from './random-zones.js';
import { compare, report, type Tally } from './tally.js';
import { servedFromMemory, throughInterface } from './through-interface.js';
import { judge } from './verdict.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 2178548);
const ROUNDS = Number(process.env['ZONEPLANE_CONFORMANCE_ROUNDS'] ?? 1);
const ZONES = 150;
const QUESTIONS = 60;

const TOPICS = fileURLToPath(new URL('../../../test/vectors/conformance/', import.meta.url));

const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

for (let round = 0; round < ROUNDS; round++) {
  const seed = SEED + round;
  t.test(`random zones, seed ${seed}`, { skip, timeout: 240_000 }, async (t) => {
    const tally = await compareZones(t, makeRandomZones(seed, ZONES, QUESTIONS));
    t.ok(tally.compared > ZONES * QUESTIONS, 'the references were asked');
    t.ok(tally.decided.get('unanimous')! > tally.compared * 0.8, 'and mostly agreed');
    t.strictSame(tally.faults.slice(0, 4), [], `all is right (repeat with ZONEPLANE_CONFORMANCE_SEED=${seed})`);
    report(t, tally);
  });
}

for (const file of readdirSync(TOPICS).filter((name) => name.endsWith('.zone'))) {
  t.test(file.replace('.zone', ''), { skip, timeout: 240_000 }, async (t) => {
    const zones = readZones(readFileSync(`${TOPICS}${file}`, 'utf8'));
    const asked = zones.map((zone) => ({ ...zone, questions: questionsOf(zone) }));
    const tally = await compareZones(t, asked);
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

async function compareZones(t: Test, zones: readonly AskedZone[]): Promise<Tally> {
  const served = serveZones(zones);
  return compare(zones, { ...served, ask: await throughInterface(t, servedFromMemory(served)) }, WAYS, judge);
}
