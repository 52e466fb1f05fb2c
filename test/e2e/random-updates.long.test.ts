/**
 * Random dynamic updates (RFC 2136) have the outcome of BIND: response code, resulting zone, and how far the serial moved.
 * Where the outcomes differ, one of the rulings below says why, or the test fails; then both zones are made equal again.
 *
 * `MESSAGES=2000 SEED=5` in the environment sends that many, from another seed; this was last run on 2026-11-22 with the seeds 5 and 9.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { Class, RCODE_MNEMONICS, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { signMessage, type TsigKey } from '../../src/dns/tsig.js';
import { freePort } from '../support/free-ports.js';
import { type Instruction, randomUpdate, updateMessage, type ZoneNow } from '../support/random-updates.js';
import { askAll } from '../support/reference-servers.js';
import { createSecondary } from '../support/secondaries.js';
import { seededRandom } from '../support/seeded-random.js';
import { asSet, serialOf, transfer } from '../support/transfer-client.js';
import { firstThat } from '../support/until.js';
import { APEX, SECRET, startWorld, ZONE } from '../support/update-world.js';

const BIND = '/usr/sbin/named';
const skip = !existsSync(BIND) && process.env['CI'] !== 'true' ? `not installed: ${BIND}` : false;
const MESSAGES = Number(process.env['MESSAGES'] ?? 120);
const SEED = Number(process.env['SEED'] ?? 2136);
/** After this, the logs of both have come. */
const LOGS_MS = 10_000;
/** Whether differences without a ruling are only counted and shown. */
const GOES_ON = process.env['GO_ON'] !== undefined;
const SIGNER: TsigKey = {
  name: parseName('update.test.'),
  algorithm: 'hmac-sha256',
  secret: new Uint8Array(Buffer.from(SECRET, 'base64')),
};

interface Outcome {
  readonly rcode: string;
  readonly after: ZoneNow;
  /** What the server has logged since the message came. */
  readonly said: () => string;
}

interface Server {
  readonly port: number;
  /** Its log since the start. */
  readonly log: () => string;
}

interface Exchange {
  readonly instructions: readonly Instruction[];
  readonly before: ZoneNow;
  readonly ours: Outcome;
  readonly theirs: Outcome;
  /** What BIND answers to the prerequisites alone. */
  readonly prerequisitesAtBind: () => Promise<string>;
}

/** A difference that stays, and how it is recognised. */
interface Ruling {
  readonly rule: string;
  readonly explains: (exchange: Exchange) => boolean | Promise<boolean>;
}

/** Ours refuses what BIND applies, for a reason that it logs. */
const refusedHere =
  (reason: RegExp) =>
  ({ ours, theirs }: Exchange): boolean =>
    ours.rcode === 'REFUSED' && theirs.rcode === 'NOERROR' && reason.test(ours.said());

/** BIND refuses what ours applies, for a reason that it logs. */
const refusedAtBind =
  (reason: RegExp) =>
  ({ ours, theirs }: Exchange): boolean =>
    ours.rcode === 'NOERROR' && theirs.rcode === 'REFUSED' && reason.test(theirs.said());

const RULINGS: readonly Ruling[] = [
  {
    rule: 'prerequisites come before the scan of the instructions (RFC 2136 §3.2, §3.4.1); BIND scans first',
    async explains({ before, ours, theirs, prerequisitesAtBind }) {
      const nothingDone = isSame(ours.after, before) && isSame(theirs.after, before);
      return (
        nothingDone &&
        ['NOTZONE', 'FORMERR', 'REFUSED'].includes(theirs.rcode) &&
        ours.rcode !== 'NOERROR' &&
        (await prerequisitesAtBind()) === ours.rcode
      );
    },
  },
  {
    rule: 'an update may leave name servers of the apex without addresses in the zone (RFC 2136 §3.4.2); BIND refuses that',
    explains: refusedAtBind(/post update name server sanity check failed/),
  },
  {
    rule: 'a CNAME that names itself is an error (RFC 1034 §3.6.2)',
    explains: refusedHere(/CNAME content cannot reference itself/),
  },
  {
    rule: 'NS and DNAME records of wildcards are discouraged (RFC 4592 §4.2, §4.4): stored here as from zone files, ignored by BIND',
    explains: ({ ours, theirs }) =>
      ours.rcode === theirs.rcode && /attempt to add wildcard (NS|DNAME) record ignored/.test(theirs.said()),
  },
  {
    rule: 'texts that differ only in where they are cut are one record, as by API; the one that is there stays',
    explains: ({ instructions, before, ours, theirs }) => {
      const isText = ({ type }: { readonly type: number }): boolean => type === Type.txt;
      const others = ({ records }: ZoneNow): string[] => asSet(records.filter((record) => !isText(record)));
      const texts = ({ records }: ZoneNow): string[] => records.filter(isText).map(joinedText);
      return (
        ours.rcode === theirs.rcode &&
        [...instructions, ...before.records].filter(isText).length > 1 &&
        isDeepStrictEqual(others(ours.after), others(theirs.after)) &&
        isDeepStrictEqual(new Set(texts(ours.after)), new Set(texts(theirs.after)))
      );
    },
  },
  {
    rule: 'a class of no use is found in the order of RFC 2136 §3.2 and §3.4.1; BIND reads the data of such records before anything else',
    explains: ({ instructions, before, ours, theirs }) =>
      theirs.rcode === 'FORMERR' &&
      ours.rcode !== 'NOERROR' &&
      isSame(ours.after, before) &&
      isSame(theirs.after, before) &&
      instructions.some(({ class: of }) => of !== Class.in && of !== Class.any && of !== Class.none),
  },
  {
    rule: 'a TTL with the highest bit is 0 (RFC 2181 §8); BIND keeps it',
    explains({ ours, theirs }) {
      const usable = theirs.after.records.map((one) => (one.ttl < 0x8000_0000 ? one : { ...one, ttl: 0 }));
      return ours.rcode === theirs.rcode && isSame(ours.after, { ...theirs.after, records: usable });
    },
  },
  {
    rule: 'only the server makes signatures and proofs (RFC 3007 §3.2); BIND takes RRSIG records of the apex',
    explains: refusedHere(/(RRSIG|NSEC|NSEC3|NSEC3PARAM) records are made by the service/),
  },
  {
    rule: 'DS records stand at delegations (RFC 4035 §2.4): others are refused here, and left out by BIND',
    explains: refusedHere(/DS records/),
  },
];

/** Owner, TTL and octets of a TXT record. */
function joinedText({ owner, ttl, rdata }: ZoneNow['records'][number]): string {
  const octets = Buffer.from(rdata, 'hex');
  const parts = [];
  for (let at = 0; at < octets.length; at += 1 + octets[at]!) parts.push(octets.subarray(at + 1, at + 1 + octets[at]!));
  return `${owner} ${ttl} ${Buffer.concat(parts).toString('hex')}`;
}

let identifier = 0;

/** Sends a message, signed, and returns the response code. */
async function send(port: number, instructions: readonly Instruction[]): Promise<string> {
  identifier = (identifier + 1) & 0xffff;
  const message = updateMessage(identifier, APEX, instructions);
  const signed = signMessage(message, SIGNER, { time: Math.floor(Date.now() / 1000) });
  const [answer] = await askAll(port, [Buffer.from(signed.message)], 5000, 2);
  return answer ? (RCODE_MNEMONICS[answer[3]! & 15] ?? '?') : 'nothing';
}

async function zoneAt(port: number): Promise<ZoneNow> {
  const { records } = await transfer(port, APEX);
  return { serial: serialOf(records[0]!), records: records.filter(({ type }) => type !== Type.soa) };
}

function isSame(one: ZoneNow, other: ZoneNow): boolean {
  return one.serial === other.serial && isDeepStrictEqual(asSet(one.records), asSet(other.records));
}

async function outcomeAt({ port, log }: Server, instructions: readonly Instruction[]): Promise<Outcome> {
  const { length } = log();
  const rcode = await send(port, instructions);
  return { rcode, after: await zoneAt(port), said: () => log().slice(length) };
}

/** Instructions that make one version of the zone the other, but for its serial. */
function difference(from: ZoneNow, to: ZoneNow): Instruction[] {
  const [had, wanted] = [from, to].map(({ records }) => new Set(asSet(records)));
  const instruction = (record: ZoneNow['records'][number], of: number): Instruction => ({
    section: 'authority',
    owner: record.owner,
    type: record.type,
    class: of,
    ttl: of === Class.in ? record.ttl : 0,
    data: new Uint8Array(Buffer.from(record.rdata, 'hex')),
  });
  const added = to.records.filter((record) => !had!.has(asSet([record])[0]!)).map((one) => instruction(one, Class.in));
  const removed = from.records
    .filter((record) => !wanted!.has(asSet([record])[0]!))
    .map((one) => instruction(one, Class.none));
  // One name server of the apex is always left.
  const isNameServer = ({ type }: Instruction): boolean => type === Type.ns;
  return [...added.filter(isNameServer), ...removed, ...added.filter((one) => !isNameServer(one))];
}

function serialInstruction(serial: number): Instruction {
  const data = `ns.example.com. hostmaster.example.com. ${serial} 3600 600 86400 60`;
  return { section: 'authority', owner: 'example.com.', type: Type.soa, class: Class.in, ttl: 300, data };
}

/** Takes back what was done at either server, so that both have the zone from before under the same serial. */
async function makeEqual(servers: readonly Server[], { before, ours, theirs }: Exchange): Promise<ZoneNow> {
  const serial = Math.max(ours.after.serial, theirs.after.serial) + 1;
  const zones = [];
  for (const [index, { port }] of servers.entries()) {
    const { after } = [ours, theirs][index]!;
    await send(port, difference(after, before));
    await send(port, [serialInstruction(serial + 1)]);
    zones.push(await zoneAt(port));
  }
  if (!isSame(zones[0]!, zones[1]!)) throw new Error(`the zones cannot be made equal: ${JSON.stringify(zones)}`);
  return zones[0]!;
}

/** The program, and BIND with the same zone, which the same key may update. */
async function start(t: Test): Promise<readonly [ours: Server, theirs: Server]> {
  const { directory, program } = await startWorld(t);
  const port = await freePort();
  const bind = createSecondary('bind', directory, port);
  const file = join(directory, 'bind', 'example.com.db');
  writeFileSync(file, ZONE);
  t.teardown(() => bind.stop());
  await bind.start(
    `key "update.test" { algorithm hmac-sha256; secret "${SECRET}"; };\n` +
      `zone "example.com" { type primary; file "${file}"; allow-update { key "update.test"; }; check-integrity no; check-names ignore; };\n`,
  );
  return [
    { port: program.dnsPort, log: program.printed },
    { port, log: bind.log },
  ];
}

t.setTimeout(60_000 + MESSAGES * 1000);

t.test('random updates have the outcome of BIND', { skip, timeout: 60_000 + MESSAGES * 1000 }, async (t) => {
  const servers = await start(t);
  const [here, bind] = servers;
  const random = seededRandom(SEED);
  let before = await zoneAt(here.port);
  t.ok(isSame(before, await zoneAt(bind.port)), 'both begin with the same zone');
  const counts: Record<string, number> = {};
  for (let n = 1; n <= MESSAGES; n++) {
    // A key may send 200 updates at once, and then 50 a second.
    if (n > 120) await sleep(30);
    const instructions = randomUpdate(random, before);
    const ours = await outcomeAt(here, instructions);
    const theirs = await outcomeAt(bind, instructions);
    let what = ours.rcode;
    if (ours.rcode === theirs.rcode && isSame(ours.after, theirs.after)) before = ours.after;
    else {
      const prerequisites = instructions.filter(({ section }) => section === 'answer');
      const prerequisitesAtBind = (): Promise<string> => send(bind.port, prerequisites);
      const exchange: Exchange = { instructions, before, ours, theirs, prerequisitesAtBind };
      const ruling = await rulingFor(exchange);
      if (!ruling) {
        const about = `message ${n} of seed ${SEED}: ${JSON.stringify(instructions.map(readable))}`;
        t.strictSame(shown(ours, before, theirs), shown(theirs, before, ours), about);
        if (!GOES_ON) return;
      }
      what = ruling?.rule ?? 'without a ruling';
      before = await makeEqual(servers, exchange);
    }
    counts[what] = (counts[what] ?? 0) + 1;
  }
  t.comment(counts);
  t.ok(Object.keys(counts).length >= 8, `${MESSAGES} messages, many kinds of outcomes`);
});

/** Waits for the logs of both, which some of the rulings read. */
async function rulingFor(exchange: Exchange): Promise<Ruling | undefined> {
  const find = async (): Promise<Ruling | undefined> => {
    for (const ruling of RULINGS) if (await ruling.explains(exchange)) return ruling;
    return undefined;
  };
  return firstThat(find, (ruling) => ruling !== undefined, { limitMs: LOGS_MS }).catch(() => undefined);
}

/** An outcome, beside another one of the same message. */
function shown({ rcode, after, said }: Outcome, before: ZoneNow, other: Outcome): object {
  const others = new Set(asSet(other.after.records));
  const only = asSet(after.records).filter((record) => !others.has(record));
  return { rcode, serial: after.serial - before.serial, only, said: said().slice(-800) };
}

function readable({ data, ...rest }: Instruction): object {
  return { ...rest, data: typeof data === 'string' ? data : Buffer.from(data).toString('hex') };
}
