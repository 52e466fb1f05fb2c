/** The states of a delegation for all that a parent may have. */
import t from 'tap';
import { parseName, ROOT } from '../../src/dns/name.js';
import {
  type DelegationState,
  isBogusBelow,
  nextDelegationState,
  pointsTo,
} from '../../src/dnssec/delegation-states.js';
import { dsRdata, readPublicKey } from '../../src/dnssec/key.js';
import { generateKey } from '../../src/dnssec/signing-key.js';

const APEX = parseName('example.test', ROOT);
const own = generateKey(13, 257).dnskey;
const other = generateKey(13, 257).dnskey;
const ds = (dnskey: Uint8Array, type = 2): Uint8Array => dsRdata(APEX, readPublicKey(dnskey), type);

t.test('states by what the parent has', async (t) => {
  const rows: [what: string, agreed: readonly Uint8Array[] | undefined, ...after: DelegationState[]][] = [
    ['unknown', undefined, 'pending', 'active', 'pending-disabled', 'disabled'],
    ['none', [], 'pending', 'pending', 'disabled', 'disabled'],
    ['ours', [ds(own)], 'active', 'active', 'pending-disabled', 'pending-disabled'],
    ['ours by SHA-1', [ds(own, 1)], 'active', 'active', 'pending-disabled', 'pending-disabled'],
    ['ours and another', [ds(other), ds(own, 4)], 'active', 'active', 'pending-disabled', 'pending-disabled'],
    ['another', [ds(other)], 'pending', 'active', 'pending-disabled', 'pending-disabled'],
  ];
  for (const [what, agreed, ...after] of rows) {
    (['pending', 'active', 'pending-disabled', 'disabled'] as const).forEach((state, i) => {
      t.equal(nextDelegationState(state, agreed, APEX, [own]), after[i], `${what}, ${state}`);
    });
    t.equal(isBogusBelow(agreed, APEX, [own]), what === 'another', what);
  }
});

t.test('DS records that no resolver follows make nothing bogus', async (t) => {
  const changed = (dnskey: Uint8Array, at: number, octet: number): Uint8Array => {
    const rdata = Uint8Array.from(ds(dnskey));
    rdata[at] = octet;
    return rdata;
  };
  const [algorithm, digest] = [changed(other, 2, 253), changed(other, 3, 99)];
  t.notOk(isBogusBelow([algorithm], APEX, [own]), 'an algorithm that nobody supports');
  t.notOk(isBogusBelow([digest], APEX, [own]), 'such a digest');
  t.ok(isBogusBelow([algorithm, ds(other)], APEX, [own]), 'beside one that is followed');
  t.notOk(isBogusBelow([algorithm, digest, ds(own)], APEX, [own]));
});

t.test('a DS record points to a key by tag, algorithm and digest', async (t) => {
  const digest = ds(own);
  t.ok(pointsTo(APEX, digest, own));
  for (const at of [0, 1, 2, 10]) {
    const changed = Uint8Array.from(digest);
    changed[at]! ^= 1;
    t.notOk(pointsTo(APEX, changed, own), `octet ${at}`);
  }
  t.ok(pointsTo(APEX, Uint8Array.of(...digest.subarray(0, 3), 99, 1), own), 'an unknown digest');
  t.notOk(pointsTo(parseName('example.org', ROOT), digest, own), 'of another zone');
});
