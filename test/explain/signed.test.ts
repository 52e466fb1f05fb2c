/** Explanations of signed zones: they show the signatures and proofs that the whole zone would give. */
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { silentLogger } from '../../src/base/log.js';
import { changeDenial } from '../../src/control/dnssec/switch-denial.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord } from '../../src/control/records/records.js';
import { readMessage } from '../../src/dns/message.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { printRecord } from '../../src/dns/zonefile/writer.js';
import { explain, printExplanation } from '../../src/explain/explain.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import type { DenialKind } from '../../src/store/dnssec/zones.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startZone } from '../control/fixture.js';
import { makeQuery } from '../support/message.js';
import { enableSigning } from '../support/signing.js';
import { TestClock } from '../support/test-clock.js';
import { testZoneKeys } from '../support/zone-keys.js';

const RECORDS = [
  ['a', 'A', '192.0.2.1'],
  ['b.c', 'A', '192.0.2.2'],
  ['*.w', 'A', '192.0.2.3'],
  ['www', 'CNAME', 'q.w.example.com'],
  ['sub', 'NS', 'ns.sub.example.com'],
  ['ns.sub', 'A', '192.0.2.4'],
  ['x.y.sub', 'A', '192.0.2.5'],
  ['gone', 'CNAME', 'missing.example.com'],
] as const;

for (const kind of ['nsec', 'nsec3'] as const) {
  t.test(`signatures and proofs are those of the whole zone, ${kind}`, (t) => explainAll(t, kind));
}

async function explainAll(t: Test, kind: DenialKind): Promise<void> {
  const { ctx: plain, zoneId } = await startZone(t);
  const ctx: Context = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  for (const [name, type, content] of RECORDS) await createRecord(ctx, zoneId, { type, name, content });
  t.notOk(
    explain(ctx, 'a.example.com', 'A').steps.some(({ step }) => step === 'signed'),
    'nothing is said about signatures in an unsigned zone',
  );
  await enableSigning(ctx, zoneId);
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZoneByName(ctx.store, 'example.com')!, kind));
  const writer = new ImageWriter({ seed: 3 });
  const source = createZoneSource(ctx.store, ctx.settings);
  createFollower({ source, writer, clock: new TestClock(), log: silentLogger() }).loadAll();
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  for (const [name, type, proofs] of [
    ['a', 'A', 0],
    ['a', 'MX', 1],
    ['c', 'A', 1],
    ['nothing', 'A', 2],
    ['zz.b.c', 'A', 1],
    ['q.w', 'A', 1],
    ['q.w', 'MX', 1],
    ['www', 'A', 1],
    ['gone', 'A', 2],
    ['q.sub', 'A', 1],
    ['t.sub', 'A', 1],
    ['sub', 'DS', 1],
    ['t', 'A', 2],
  ] as const) {
    const full = `${name}.example.com`;
    const query = makeQuery(parseName(`${full}.`), typeByMnemonic(type)!.code, { edns: 4096, dnssecOk: true });
    const out = Buffer.alloc(65535);
    const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp);
    const { answers, authorities } = readMessage(out.subarray(0, length))!;
    const lines = (records: typeof answers): string[] =>
      records.map(({ owner, type: code, ttl, rdata }) =>
        printRecord({ owner, type: code, ttl, rdata }).replaceAll('\t', ' '),
      );
    const found = explain(ctx, full, type);
    t.strictSame(found.answer.answer, lines(answers), `${full} ${type}`);
    t.strictSame(found.answer.authority, lines(authorities), `${full} ${type}`);
    t.not(found.answer.rcode, 'SERVFAIL');
    const given = found.steps.filter(({ step }) => step === 'proof').length;
    if (kind === 'nsec') t.equal(given, proofs, `${full} ${type}`);
    else t.equal(given > 0, proofs > 0, `${full} ${type}`);
    t.ok(found.steps.some(({ step, detail }) => step === 'signed' && /key \d+ until \d{4}-/.test(detail)));
  }
  const text = printExplanation(explain(ctx, 'nothing.example.com', 'A')).join('\n');
  const wanted =
    kind === 'nsec3'
      ? /proof +[0-9a-v]{32}\.example\.com: NSEC3: no hashes before [0-9a-v]{32}, and no types but/i
      : /proof +gone\.example\.com: NSEC: no names before sub\.example\.com\., and no types but CNAME RRSIG NSEC/;
  t.match(text, wanted);
  const last = printExplanation(explain(ctx, 'zzzz.example.com', 'A')).join('\n');
  if (kind !== 'nsec3') t.match(last, /proof +[a-z.]+: NSEC: no names after this one, and no types but /);
}

t.test('proofs that are signed when they are asked for', async (t) => {
  const { ctx: plain, zoneId } = await startZone(t);
  const ctx: Context = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  for (const [name, type, content] of RECORDS) await createRecord(ctx, zoneId, { type, name, content });
  await enableSigning(ctx, zoneId);
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZoneByName(ctx.store, 'example.com')!, 'compact'));
  const said = (name: string, type: string): string => printExplanation(explain(ctx, name, type)).join('\n');
  const later = String.raw`; signed when it is asked for \(RFC 9824\)`;
  for (const [name, type, wanted] of [
    ['nothing', 'A', String.raw`proof +nothing\.example\.com: NSEC: the name does not exist${later}`],
    ['c', 'A', String.raw`proof +c\.example\.com: NSEC: .* no types but RRSIG NSEC${later}`],
    ['q.w', 'MX', String.raw`proof +q\.w\.example\.com: NSEC: .* no types but A RRSIG NSEC${later}`],
    ['gone', 'A', String.raw`proof +missing\.example\.com: NSEC: the name does not exist${later}`],
    ['a', 'MX', String.raw`proof +a\.example\.com: NSEC: .* no types but A RRSIG NSEC$`],
  ] as const) {
    t.match(said(`${name}.example.com`, type), new RegExp(wanted, 'm'));
  }
  t.match(explain(ctx, 'q.w.example.com', 'A').answer, { rcode: 'NOERROR', answer: { length: 1 } });
});
