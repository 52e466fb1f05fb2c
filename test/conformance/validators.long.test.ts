/**
 * Programs that validate, asking a server that serves signed zones: unbound over random zones, delv over every kind of answer,
 * and ldns-verify-zone over the zones themselves.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { answerWith } from '../../src/answer/engine.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { startDnsServers } from '../../src/server/start.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { askAll } from '../support/reference-servers.js';
import { type ServedZones, serveCompact, serveZones, type ZoneSource } from '../support/served-zones.js';
import { trustAnchor } from '../support/signed-zone.js';
import { TestClock } from '../support/test-clock.js';
import { startUnbound, type Unbound } from '../support/unbound.js';
import type { AskedZone } from './comparison.js';
import { printQuestion, type Question } from './questions.js';
import { makeRandomZones } from './random-zones.js';

const NSEC: Denial = { kind: 'nsec' };
const NSEC3: Denial = { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false };
const OPT_OUT: Denial = { kind: 'nsec3', iterations: 1, salt: Uint8Array.of(0xab, 0xcd), optOut: true };
const COMPACT: Denial = { kind: 'compact' };
const DENIALS = [NSEC, NSEC3, OPT_OUT, COMPACT];

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 2178548);

const absent = ['/usr/sbin/unbound', '/usr/bin/delv', '/usr/bin/ldns-verify-zone'].filter((file) => !existsSync(file));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-validators-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

/** Puts an engine behind sockets of 127.0.0.1. Returns the port. */
async function listen(t: Test, served: ServedZones): Promise<number> {
  const { compact, signingTime, made } = serveCompact(served);
  t.teardown(() => compact.close());
  const settings = { ...DEFAULT_ENGINE_SETTINGS, signingTime };
  const servers = await startDnsServers({
    addresses: ['127.0.0.1'],
    port: 0,
    transport: 'auto',
    workers: 1,
    answer: answerWith(createEngineState(settings, made), served.writer.reader),
    answerDeferred: compact.answerDeferred,
    workerEngine: {
      connect: () => ({
        data: { image: served.writer.current(), settings },
        port: new MessageChannel().port2,
      }),
    },
    log: silentLogger(),
    clock: new SystemClock(),
  });
  t.teardown(() => servers.close());
  return servers.port;
}

/** As an engine answers that makes what it lacks. */
function ownAnswers(t: Test, served: ServedZones): (question: Question) => DecodedMessage {
  // Its time for signatures does not pass.
  const { compact } = serveCompact(served, { clock: new TestClock(Date.now()) });
  t.teardown(() => compact.close());
  return ({ name, type }) => {
    const query = makeQuery(name, type, { edns: 4096, dnssecOk: true });
    const out = Buffer.alloc(65535);
    return decodeMessage(out.subarray(0, compact.answer(query, 0, query.length, out, 0, out.length, Transport.tcp)));
  };
}

/** Whether a resolver gets the end of the answer from us: no referral, and no alias that leads elsewhere or nowhere. */
function isWhole({ aa, rcode, answer, authority }: DecodedMessage, { type }: Question): boolean {
  // Asked for the alias itself, unbound looks for a zone cut at the name and takes the DNAME above it for a wrong answer.
  if ((type === Type.cname || type === Type.dname) && answer.some((record) => record.type === Type.dname)) return false;
  if (!aa || (rcode !== Rcode.noError && rcode !== Rcode.nxDomain) || type === Type.any || type === Type.ds)
    return false;
  if (authority.some((record) => record.type === Type.ns)) return false;
  return authority.some((record) => record.type === Type.soa) || answer.some((record) => record.type === type);
}

/**
 * Zones that stand alone, because without a delegation between them unbound looks in vain for the way from one to the other,
 * and in which no wildcard is an empty non-terminal: unbound 1.17 believes no proof of that.
 */
function plainZones(zones: readonly AskedZone[]): AskedZone[] {
  const apexes = zones.map(({ apex }) => apex);
  const isAlone = ({ apex }: AskedZone): boolean =>
    !apexes.some((other) => other.endsWith(`.${apex}`) || apex.endsWith(`.${other}`));
  return zones.filter(isAlone).map((zone) => ({ ...zone, text: zone.text.replace(/^\S+\.\*\..*\n/gm, '') }));
}

function startResolver(t: Test, ports: readonly number[], { signed }: ServedZones): Promise<Unbound> {
  const names = [...signed.keys()].map((name) => name.slice(0, -1));
  const settings = ['harden-below-nxdomain: no', 'val-nsec3-keysize-iterations: "1024 150 2048 150 4096 150"'];
  return startUnbound(t, { names, ports, anchors: [...signed.values()].map(({ ds }) => ds), settings });
}

t.test(`unbound validates every answer of random zones, seed ${SEED}`, { skip, timeout: 240_000 }, async (t) => {
  const zones = plainZones(makeRandomZones(SEED, 60, 60)).map((zone, i) => ({ ...zone, denial: DENIALS[i % 4]! }));
  const served = serveZones(zones);
  const { port, log } = await startResolver(t, [await listen(t, served)], served);
  const own = ownAnswers(t, served);
  const optOut = zones.filter(({ denial }) => denial === OPT_OUT).map(({ apex }) => apex);
  const questions = zones
    .flatMap(({ questions }) => questions)
    .map((question) => ({ question, own: own(question) }))
    .filter(({ question, own }) => isWhole(own, question));
  t.ok(questions.length > 800, `${questions.length} questions`);
  const queries = questions.map(({ question: { name, type } }) =>
    makeQuery(name, type, { flags: 0x0100, edns: 4096, dnssecOk: true }),
  );
  const answers = await askAll(port, queries, 20_000, 2);
  const faults = questions.flatMap(({ question, own }, i) => {
    const found = answers[i] && decodeMessage(answers[i]);
    // Unbound does not say `ad` where opt-out leaves doubts (RFC 5155 §9.2).
    const isDoubtful = optOut.some((apex) => printQuestion(question).includes(apex)) && own.authority.length > 0;
    if (found?.rcode === own.rcode && (found.ad || isDoubtful)) return [];
    return [`${printQuestion(question)}: ${found?.rcode} ${found?.ad ? 'ad' : ''}, we ${own.rcode}`];
  });
  const reasons = log().filter((line) => line.includes('validation'));
  t.strictSame(faults.slice(0, 5), [], reasons.slice(0, 5).join('\n'));
});

const APEX = 'example.test.';
const ZONE = `$ORIGIN ${APEX}
$TTL 300
@ SOA ns1 host 1 7200 3600 1209600 60
@ NS ns1
@ MX 10 mail
ns1 A 192.0.2.1
mail A 192.0.2.2
*.w A 192.0.2.3
*.b.*.w TXT "below a wildcard"
a.b.c TXT "below empty non-terminals"
www CNAME x.w
gone CNAME missing
*.al CNAME y.w
d DNAME w
sec NS ns.sec
sec DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.sec A 192.0.2.4
x.*.star A 192.0.2.7
ins NS ns.ins
ns.ins A 192.0.2.5
\\000\\001.z A 192.0.2.6
`;

/** Name, type, and whether there is no data at the end. */
const KINDS: readonly (readonly [name: string, type: string, negative: boolean])[] = [
  ['mail', 'A', false],
  ['MaiL', 'A', false],
  ['@', 'MX', false],
  ['@', 'SOA', false],
  ['@', 'DNSKEY', false],
  ['mail', 'AAAA', true],
  ['nothing', 'A', true],
  ['b.c', 'A', true],
  ['x.b.c', 'A', true],
  ['q.w', 'A', false],
  ['q.r.w', 'A', false],
  ['q.w', 'MX', true],
  ['\\033.b.*.w', 'MX', true],
  ['www', 'A', false],
  ['www', 'MX', true],
  ['gone', 'A', true],
  ['q.al', 'A', false],
  ['q.al', 'AAAA', true],
  ['q.d', 'A', false],
  ['sec', 'DS', false],
  ['ins', 'DS', true],
  ['q.star', 'A', true],
  ['\\000\\001.z', 'A', false],
  ['\\001.z', 'A', true],
];

for (const denial of [NSEC, NSEC3, COMPACT]) {
  t.test(`unbound validates every kind of answer, ${denial.kind}`, { skip, timeout: 240_000 }, async (t) => {
    const served = serveZones([{ apex: APEX, text: ZONE, denial }]);
    const { judge, log } = await startResolver(t, [await listen(t, served)], served);
    const own = ownAnswers(t, served);
    // It believes no proof about a wildcard that is an empty non-terminal.
    for (const [name, type] of KINDS.filter(([name]) => name !== 'q.star')) {
      const full = name === '@' ? APEX : `${name}.${APEX}`;
      const { code } = typeByMnemonic(type)!;
      const { rcode } = own({ name: parseName(full), type: code });
      const reasons = (): string =>
        log()
          .filter((line) => line.includes('validation failure'))
          .join('\n');
      t.equal(await judge(full.slice(0, -1), code), `secure ${rcode}`, `${name} ${type} ${reasons()}`);
    }
  });
}

for (const denial of DENIALS) {
  t.test(`delv and ldns-verify-zone, ${JSON.stringify(denial.kind)}`, { skip, timeout: 240_000 }, async (t) => {
    const source: ZoneSource = { apex: APEX, text: ZONE, denial };
    const served = serveZones([source]);
    t.strictSame([...served.refused], []);
    const { text, ds } = served.signed.get(APEX)!;
    const file = join(directory, 'zone');
    writeFileSync(file, text);
    const verified = spawnSync('/usr/bin/ldns-verify-zone', ['-V', '2', file], { encoding: 'utf8' });
    // It knows chains alone.
    if (denial !== COMPACT) t.equal(verified.status, 0, verified.stdout + verified.stderr);
    const anchors = join(directory, 'delv-anchors');
    writeFileSync(anchors, trustAnchor(ds));
    const port = await listen(t, served);
    const verdicts = await Promise.all(KINDS.map(([name, type]) => delv(port, anchors, name, type)));
    KINDS.forEach(([name, type, negative], i) => {
      // Opt-out proves nothing about insecure delegations below a name (RFC 5155 §12.2).
      const isDoubtful = denial === OPT_OUT;
      const wanted = isDoubtful ? /fully validated|unsigned/ : /^; (negative response, )?fully validated/m;
      t.match(verdicts[i], wanted, `${name} ${type}`);
      t.equal(/NXRRSET|NXDOMAIN|negative response/.test(verdicts[i]!), negative, `${name} ${type}`);
    });
  });
}

function delv(port: number, anchors: string, name: string, type: string): Promise<string> {
  const full = name === '@' ? APEX : `${name}.${APEX}`;
  const args = ['@127.0.0.1', '-p', String(port), '-a', anchors, `+root=${APEX}`, full, type];
  return new Promise((resolve) => {
    execFile('/usr/bin/delv', args, { encoding: 'utf8' }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
