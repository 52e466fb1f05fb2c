/** A sender of dynamic updates whose signature was checked, with a key of the account of a zone. */
import type { Context } from '../../src/control/kernel/context.js';
import { applyUpdate, type UpdateRequest, type UpdateResult } from '../../src/control/updates/update.js';
import { parseName } from '../../src/dns/name.js';
import type { SignedUpdate } from '../../src/store/secondary/applied-updates.js';
import { insertTsigKey, tsigKeysOfAccount } from '../../src/store/secondary/tsig-keys.js';
import { findZoneById, type ZoneRow } from '../../src/store/zones/zones.js';

export interface UpdateSender {
  /** The zone as it is now. */
  zone(): ZoneRow;
  /** Applies an update with a signature of its own, unless it brings one. */
  send(parts: Partial<UpdateRequest>): Promise<UpdateResult>;
  /** The signature with this first octet; without one, that of the last update. */
  signature(number?: number): SignedUpdate;
}

export async function createUpdateSender(ctx: Context, zoneId: string): Promise<UpdateSender> {
  const { store, clock, random } = ctx;
  const zone = (): ZoneRow => findZoneById(store, Buffer.from(zoneId, 'hex'))!;
  const { account } = zone();
  const [name, secret] = [parseName('k.test.'), new Uint8Array(8)];
  const values = { name: 'k.test.', key_name: name, algorithm: 'hmac-sha256', secret, policies: null };
  await store.write(() => insertTsigKey(store, random.bytes(16), account, values, clock.nowUs()));
  const key = tsigKeysOfAccount(store, account)[0]!.seq;
  const actor: Context['actor'] = { ...ctx.actor, email: 'update key k.test', kind: 'tsig' };
  const expiresAt = Math.floor(clock.nowMs() / 1000) + 300;
  let last = 0;
  const signature = (number = last): SignedUpdate => ({ key, mac: Uint8Array.of(number, 1, 2), expiresAt });
  return {
    zone,
    signature,
    send: (parts) =>
      applyUpdate({ ...ctx, actor, source: 'update' }, zoneId, {
        prerequisites: [],
        updates: [],
        signed: signature(++last),
        ...parts,
      }),
  };
}
