/** Of TSIG keys that may change records (RFC 2136). */
import { toHex } from '../base/bytes.js';
import { resourcesOf } from '../control/guard/permissions.js';
import { describeUpdates, updatePoliciesOf } from '../control/secondary/tsigs.js';
import { parseTsigAlgorithm } from '../dns/tsig.js';
import { allAccounts } from '../store/access/accounts.js';
import type { Store } from '../store/driver.js';
import { type TsigKeyRow, tsigKeysOfAccount } from '../store/secondary/tsig-keys.js';
import { findZoneById } from '../store/zones/zones.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const what = 'update keys';
/** Hashes with which nobody should sign any more (RFC 8945 §6). */
const WEAK = /^hmac-(?:md5|sha1)\b/;

/** One finding for each key that may change something. */
export function examineUpdateKeys({ store, seesAccount }: Examined): Finding[] {
  return allAccounts(store)
    .filter(({ seq }) => seesAccount(seq))
    .flatMap(({ seq }) => tsigKeysOfAccount(store, seq))
    .filter((key) => updatePoliciesOf(key).length > 0)
    .map((key) => examineKey(store, key));
}

function examineKey(store: Store, key: TsigKeyRow): Finding {
  const policies = updatePoliciesOf(key);
  const gone = policies
    .flatMap(resourcesOf)
    .find(({ scope, id }) => scope === 'zone' && id !== '*' && !findZoneById(store, Buffer.from(id, 'hex')));
  if (gone) {
    const text = `${key.name} may update the zone ${gone.id}, which does not exist any more`;
    const remedy = `If nobody needs it: zoneplane tsig delete ${toHex(key.id)}`;
    return { what, verdict: 'warn', kind: 'update-key-without-zone', text, remedy };
  }
  const text = `${key.name} may update ${describeUpdates(policies)}`;
  if (!WEAK.test(parseTsigAlgorithm(key.algorithm) ?? '')) return { what, verdict: 'ok', text };
  return {
    what,
    verdict: 'warn',
    kind: 'update-key-weak',
    text: `${text}; it signs with ${key.algorithm}`,
    remedy: 'Make a key with hmac-sha256.',
  };
}
