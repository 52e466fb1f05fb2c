/** A parent zone that is served here, and could take the DS records of the zone by itself. */
import { Link } from '../../router.js';
import type { DnssecStatus } from '../../types.js';

export function Willing({ name, signed }: NonNullable<DnssecStatus['parent']['could_take']>) {
  return (
    <p>
      <Link href={`/zones/${encodeURIComponent(name)}/dnssec`}>
        {signed ? `Let ${name} take the DS record by itself` : `Sign ${name}`}
      </Link>
      {signed
        ? ', now and whenever keys change: “Zones below this one” on its DNSSEC screen.'
        : ' first: resolvers check this zone only if the parent is signed, and only then can the parent take the DS record by itself.'}
    </p>
  );
}
