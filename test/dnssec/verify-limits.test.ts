/** Zones that would cost very much to verify: what is too much is a fault, and is not looked at (KeyTrap, CVE-2023-50387). */
import t from 'tap';
import { Type } from '../../src/dns/codes.js';
import { keyTag } from '../../src/dns/key-tag.js';
import { parseName } from '../../src/dns/name.js';
import type { RR } from '../../src/dns/rr.js';
import { nsec3ParamRdata } from '../../src/dnssec/denial.js';
import { generateKey, openKey } from '../../src/dnssec/signing-key.js';
import { verifyZone } from '../../src/dnssec/verify.js';
import { signRRset } from '../support/sign-rrset.js';

const APEX = parseName('trap.test.');
const NOW = 1_800_000_000;
const { dnskey, pkcs8 } = generateKey(15, 257);
const KEY = openKey(dnskey, pkcs8);

function rr(type: number, rdata: Uint8Array): RR {
  return { owner: APEX, type, ttl: 300, rdata };
}

/** Signatures of the keys, each at another time. */
function signatures(count: number, rdatas: readonly Uint8Array[]): RR[] {
  return Array.from({ length: count }, (_, i) => {
    const times = { inception: NOW - 3600 - i, expiration: NOW + 3600 };
    return rr(Type.rrsig, signRRset(KEY, APEX, APEX, { type: Type.dnskey, ttl: 300, rdatas }, times));
  });
}

/** Another key with the same tag. Nobody knows its private part. */
function alike(number: number): Uint8Array {
  const key = new Uint8Array(dnskey);
  key.fill(number, 4, 34);
  for (let last = 0; last < 0x10000; last++) {
    key[34] = last >>> 8;
    key[35] = last;
    if (keyTag(key) === keyTag(dnskey)) return key;
  }
  throw new Error('no such key');
}

function faultsOf(records: readonly RR[]): { readonly codes: string[]; readonly steps: number } {
  const placed = records.map((record) => ({ ...record, file: undefined, line: 1 }));
  const verifying = verifyZone(APEX, placed, NOW);
  for (let steps = 0; ; steps++) {
    const step = verifying.next();
    if (!step.done) continue;
    const errors = step.value.findings.filter(({ severity }) => severity === 'error');
    return { codes: [...new Set(errors.map(({ code }) => code))], steps };
  }
}

const keys = (rdatas: readonly Uint8Array[]): RR[] => rdatas.map((rdata) => rr(Type.dnskey, rdata));

t.test('keys of one tag, keys, signatures of one RRset', (t) => {
  const four = [dnskey, alike(1), alike(2), alike(3)];
  t.same(faultsOf([...keys(four), ...signatures(1, four)]).codes, ['no-denial'], 'four are looked at');
  const five = [...four, alike(4)];
  t.same(faultsOf([...keys(five), ...signatures(1, five)]).codes, ['keys-alike']);
  const many = [dnskey, ...Array.from({ length: 64 }, () => generateKey(15, 256).dnskey)];
  t.same(faultsOf([...keys(many), ...signatures(1, many)]).codes, ['many-keys']);
  const one = [dnskey];
  const most = faultsOf([...keys(one), ...signatures(64, one)]);
  t.same(most.codes, ['no-denial']);
  t.ok(most.steps > 64, 'each signature is a step');
  t.same(faultsOf([...keys(one), ...signatures(65, one)]).codes, ['many-signatures', 'no-denial']);
  t.end();
});

t.test('iterations of NSEC3', (t) => {
  const one = [dnskey];
  const of = (iterations: number): string[] => {
    const parameters = nsec3ParamRdata({ iterations, salt: new Uint8Array(0), optOut: false });
    const signature = signRRset(
      KEY,
      APEX,
      APEX,
      { type: Type.nsec3param, ttl: 300, rdatas: [parameters] },
      { inception: NOW - 3600, expiration: NOW + 3600 },
    );
    return faultsOf([...keys(one), ...signatures(1, one), rr(Type.nsec3param, parameters), rr(Type.rrsig, signature)])
      .codes;
  };
  t.same(of(150), ['no-denial'], 'names are hashed');
  t.same(of(151), ['many-iterations']);
  t.end();
});
