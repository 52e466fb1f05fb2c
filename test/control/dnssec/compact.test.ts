/** Compact denial as an option of zones: what does not go together with it, and the keys that DNS processes get for it. */
import t from 'tap';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../../../src/answer/state.js';
import { parseCidrSet } from '../../../src/base/ip.js';
import { silentLogger } from '../../../src/base/log.js';
import { createZoneSigners } from '../../../src/compact/zone-signers.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { importKeys } from '../../../src/control/dnssec/key-files.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import { createRecord } from '../../../src/control/records/records.js';
import { createOutgoing, deleteOutgoing } from '../../../src/control/secondary/outgoing.js';
import { parseName } from '../../../src/dns/name.js';
import { generateKey } from '../../../src/dnssec/signing-key.js';
import { keysOfZone, updateDnssecKey } from '../../../src/store/dnssec/keys.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { transferRefusal } from '../../../src/transfer/out/may-transfer.js';
import { DNS_PURPOSES, printKeys, readKeys } from '../../../src/vault/delegate.js';
import { settingKeys } from '../../../src/vault/master-key.js';
import { createVault } from '../../../src/vault/vault.js';
import { requireVerified } from '../../support/signed-copy.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

const NAME = 'example.com';
/** Of {@link testZoneKeys}. */
const MASTER = settingKeys([new Uint8Array(32).fill(7)], 'the test');

t.test('a zone has peers or compact denial, and a key for its records', async (t) => {
  const { ctx: plain, zoneId } = await startZone(t);
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  const { seq } = findZoneByName(ctx.store, NAME)!;
  const link = () => createOutgoing(ctx, zoneId, { name: NAME, peers: [] });
  await t.rejects(editDnssec(ctx, zoneId, { denial: 'compact' }), { message: /not enabled/ });
  await link();
  await editDnssec(ctx, zoneId, { status: 'active' });
  const refused = { status: 400, message: /is transferred to peers/ };
  await t.rejects(editDnssec(ctx, zoneId, { denial: 'compact' }), refused);
  await deleteOutgoing(ctx, zoneId);
  t.match(await editDnssec(ctx, zoneId, { denial: 'compact' }), { denial: 'compact' });
  const silent = await editDnssec(ctx, zoneId, { dnssec_use_nsec3: false });
  t.match(silent, { denial: 'compact' }, 'a client that only says that it wants no NSEC3');
  await t.rejects(link(), { status: 400, message: /compact denial/ });
  const zone = findZoneByName(ctx.store, NAME)!;
  const operator = { address: Uint8Array.of(127, 0, 0, 1), key: undefined };
  const everywhere = parseCidrSet(['0.0.0.0/0']);
  t.match(transferRefusal(ctx.store, zone, operator, everywhere), /compact denial/);
  requireVerified({ ctx, seq, apex: NAME }, 'compact');
  await editDnssec(ctx, zoneId, { denial: 'nsec3' });
  t.equal(transferRefusal(ctx.store, zone, operator, everywhere), undefined);
  await link();
});

t.test('no key that signs keys goes to DNS processes', async (t) => {
  const { ctx: plain, zoneId } = await startZone(t);
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  await importKeys(ctx, zoneId, [generateKey(13, 257)]);
  await t.rejects(editDnssec(ctx, zoneId, { denial: 'compact' }), { status: 400, message: /one key for everything/ });
});

t.test('DNS processes open the keys that sign records, only those, and only while the zone needs them', async (t) => {
  const { ctx: plain, zoneId, clock } = await startZone(t);
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  const { store, random } = ctx;
  const { seq, apex } = findZoneByName(store, NAME)!;
  await editDnssec(ctx, zoneId, { status: 'active', denial: 'compact' });
  let text = '';
  let asked = 0;
  const vault = createVault({
    store,
    random,
    keys() {
      asked++;
      return readKeys(text, DNS_PURPOSES);
    },
  });
  const signersOf = createZoneSigners({ store, vault, log: silentLogger() });
  const state = createEngineState(DEFAULT_ENGINE_SETTINGS);
  state.search.name.set(parseName(`missing.${NAME}.`));
  state.search.labelAt.set([0, 8]);
  Object.assign(state.search, { nameLength: apex.length + 8, labels: 3, apexLabels: 2 });
  let apexNode = 0;
  const tagsOf = (): readonly number[] | undefined => {
    // Every change of a zone replaces the node.
    state.search.apexNode = ++apexNode;
    return signersOf(state, { generation: 1 } as never)?.map(({ tag }) => tag);
  };
  t.equal(tagsOf(), undefined, 'the admin process has not given keys yet');
  t.equal(asked, 2);
  text = printKeys(MASTER, DNS_PURPOSES);
  const [ksk, zsk] = keysOfZone(store, seq);
  t.strictSame([ksk!.role, zsk!.role, ksk!.online], ['ksk', 'zsk', null]);
  t.strictSame(tagsOf(), [zsk!.tag]);
  t.strictSame(readKeys(text, ['tsig']), [], 'keys for other purposes are not taken for these');
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1' });
  clock.advance(86_400_000);
  await store.write(() => updateDnssecKey(store, ksk!.id, { state: 'active' }));
  await startRollover(ctx, zoneId, { role: 'zsk' });
  t.strictSame(tagsOf(), [zsk!.tag], 'the new key does not sign yet');
  const fresh = keysOfZone(store, seq)[2]!;
  t.ok(fresh.online, 'but is there');
  await store.write(() => {
    updateDnssecKey(store, fresh.id, { signs: 1 });
    updateDnssecKey(store, zsk!.id, { signs: 0 });
  });
  t.strictSame(tagsOf(), [fresh.tag]);
  await editDnssec(ctx, zoneId, { denial: 'nsec' });
  t.strictSame(
    keysOfZone(store, seq).map(({ online }) => online),
    [null, null, null],
  );
  t.equal(tagsOf(), undefined);
});
