/**
 * Signed zones: NSD, Knot, BIND and we serve the same signed zones and answer the same questions, with DO and without. The
 * answers are compared as those of unsigned zones are, and the proofs record by record.
 *
 * ZONEPLANE_CONFORMANCE_SEED makes other zones, ZONEPLANE_CONFORMANCE_ROUNDS (default 1) goes on with the seeds that follow.
 */
import t from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { importZone } from '../../src/control/imports/zone.js';
import { Type } from '../../src/dns/codes.js';
import { isWildcard } from '../../src/dns/name.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { startPublisher } from '../../src/publish/publisher.js';
import { createZoneSource } from '../../src/publish/source.js';
import { startControl } from '../control/fixture.js';
import type { DecodedMessage, DecodedRR } from '../support/message.js';
import { missingReferences } from '../support/reference-servers.js';
import { serveZones } from '../support/served-zones.js';
import type { Exchange } from './comparison.js';
import { meaningOf, printRR } from './meaning.js';
import { SIGNED_WAYS } from './questions.js';
import { makeRandomZones } from './random-zones.js';
import { compare, report } from './tally.js';
import { servedFromMemory, throughInterface } from './through-interface.js';
import { judge, sameSubstitution, type Verdict } from './verdict.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 2178548);
const ROUNDS = Number(process.env['ZONEPLANE_CONFORMANCE_ROUNDS'] ?? 1);
const ZONES = 60;
const QUESTIONS = 60;
/** Zones that are imported with their signatures. */
const PRESIGNED = 24;

/** The random zones take turns. */
const DENIALS: readonly Denial[] = [
  { kind: 'nsec' },
  { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false },
  { kind: 'nsec3', iterations: 1, salt: Uint8Array.of(0xab, 0xcd), optOut: true },
];

const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

for (let round = 0; round < ROUNDS; round++) {
  const seed = SEED + round;
  t.test(`signed random zones, seed ${seed}`, { skip, timeout: 240_000 }, async (t) => {
    const zones = makeRandomZones(seed, ZONES, QUESTIONS).map((zone, i) => ({ ...zone, denial: DENIALS[i % 3]! }));
    const ours = serveZones(zones);
    const signed = zones.map((zone) => ({ ...zone, text: ours.signed.get(zone.apex)?.text ?? zone.text }));
    const ask = await throughInterface(t, servedFromMemory(ours));
    const tally = await compare(signed, { ...ours, ask }, SIGNED_WAYS, judgeSigned);
    t.ok(tally.compared > ZONES * QUESTIONS, 'the references were asked');
    t.ok(tally.decided.get('unanimous')! > tally.compared * 0.8, 'and mostly agreed');
    t.strictSame(tally.faults.slice(0, 4), [], `all is right (repeat with ZONEPLANE_CONFORMANCE_SEED=${seed})`);
    report(t, tally);
  });
}

/** Zones that are imported with their signatures, and served from the store. */
t.test(`presigned random zones, seed ${SEED}`, { skip, timeout: 240_000 }, async (t) => {
  const zones = makeRandomZones(SEED, PRESIGNED, QUESTIONS).map((zone, i) => ({
    ...zone,
    denial: DENIALS[i % 3]!,
  }));
  const { signed, refused } = serveZones(zones);
  t.same([...refused], []);
  const files = zones.map((zone) => ({ ...zone, text: signed.get(zone.apex)!.text }));
  const { ctx, clock } = await startControl(t);
  clock.advance(Date.now() - clock.nowMs());
  for (const { apex, text } of files) {
    const result = await importZone(ctx, { source: { text }, origin: apex, signatures: { kind: 'presigned' } });
    if (!result.imported) throw new Error(`${apex} ${result.issues.map(({ message }) => message).join('; ')}`);
  }
  const publisher = startPublisher({
    source: createZoneSource(ctx.store, ctx.settings),
    engine: DEFAULT_ENGINE_SETTINGS,
    clock,
    log: ctx.log,
    seed: 1,
  });
  const { answer } = publisher;
  const ask = await throughInterface(t, { answer, connect: () => publisher.connectWorker() });
  const tally = await compare(files, { answer, refused, signed, ask }, SIGNED_WAYS, judgeSigned);
  publisher.close();
  t.ok(tally.compared > PRESIGNED * QUESTIONS, 'the references were asked');
  t.strictSame(tally.faults.slice(0, 4), [], 'all is right');
  report(t, tally);
});

function judgeSigned(heard: Exchange): Verdict {
  const theirs = new Map([...heard.theirs].map(([name, answer]) => [name, withoutProofs(answer)]));
  const rest = { ...heard, ours: withoutProofs(heard.ours), whole: withoutProofs(heard.whole), theirs };
  const verdict = judge(rest);
  if (verdict.fault !== undefined) return verdict;
  // NSD proves it with one record that is not enough (RFC 5155 §7.2.2).
  const isKnotOut = verdict.by === 'opt-out' || verdict.by === 'other zone without knot';
  if (isKnotOut && !verdict.agreed.includes('bind')) return verdict;
  return { ...verdict, fault: faultOfProofs(heard, rest, verdict.by === 'wildcard dname') };
}

/**
 * Proofs are compared with those of servers that otherwise answer the same: all records that one of them thinks necessary,
 * and none that nobody gives. NSD adds the closest encloser to NODATA at a wildcard. When the wildcard is an empty
 * non-terminal, BIND and Knot prove only that the name does not exist, and NSD that or the other; RFC 4035 §3.1.3.4 wants both.
 * Behind a DNAME, NSD proves another name than the last; at a wildcard, Knot also proves that it was expanded.
 */
function faultOfProofs(
  { question, ours, theirs, owners }: Exchange,
  rest: Exchange,
  isAtWildcard: boolean,
): string | undefined {
  if (ours.tc) return undefined;
  const own = meaningOf(rest.ours);
  const alike = [...theirs].filter(
    ([name, answer]) => !answer.tc && sameSubstitution(meaningOf(rest.theirs.get(name)!), own),
  );
  if (alike.length === 0) return undefined;
  // Knot proves only the wildcard when it answers for another name that begins with `*`.
  if (isWildcard(question.name) && alike.every(([name]) => name === 'knot')) return undefined;
  const given = new Set(proofsOf(ours));
  const all = new Set(alike.flatMap(([, answer]) => proofsOf(answer)));
  const hasEmptyWildcard = [...owners].some((owner) => owner.includes('.*.'));
  if (!hasEmptyWildcard && [...given].some((record) => !all.has(record))) return 'a proof that nobody gives';
  if (isAtWildcard || (alike.every(([name]) => name === 'nsd') && ours.answer.some(isDname))) return undefined;
  const isEnough = alike.some(([, answer]) => proofsOf(answer).every((record) => given.has(record)));
  return isEnough ? undefined : 'a proof is missing';
}

function withoutProofs(message: DecodedMessage): DecodedMessage {
  return { ...message, authority: message.authority.filter((record) => !isProof(record)) };
}

function proofsOf({ authority }: DecodedMessage): string[] {
  return authority.filter(isProof).map(printRR);
}

function isDname({ type }: DecodedRR): boolean {
  return type === Type.dname;
}

function isProof({ type, rdata }: DecodedRR): boolean {
  const covered = type === Type.rrsig ? Number.parseInt(rdata.slice(0, 4), 16) : type;
  return covered === Type.nsec || covered === Type.nsec3;
}
