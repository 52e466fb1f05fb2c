/** The state of a zone's signing, for people. */

import { isBogusBelow } from '../../dnssec/delegation-states.js';
import type { ParentServerDs } from '../../resolver/parent-ds.js';
import { isSignedElsewhere } from '../../serving/signing.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { countDueSignatures } from '../../store/dnssec/signatures.js';
import type { DenialKind } from '../../store/dnssec/zones.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { getDnssec } from './delegation.js';
import { isEntryPoint } from './ds.js';
import type { DnssecItem } from './item.js';
import { agreedDs, parentOf } from './parent.js';
import { delegationTaken, type WillingParent, willingParent } from './parental-agent.js';
import { signalNames } from './signals.js';
import { refreshSpanOfZone, stateOfSigning } from './state.js';

export interface SigningStatus {
  readonly status: DnssecItem['status'];
  readonly denial: DenialKind | undefined;
  readonly signedOwners: number;
  /** From 0 to 1, while the zone is being signed for the first time. */
  readonly progress: number | undefined;
  /** Microseconds since 1970. */
  readonly firstExpiry: number | undefined;
  /** Owners whose signatures are to be made anew. */
  readonly due: number;
  /** Why resolvers reject the zone, or why nothing can be signed; for people. */
  readonly failure: string | undefined;
  /** Names at which other zones tell of its keys (RFC 9615). */
  readonly signals: readonly string[];
  readonly parent: {
    readonly checkedAt: number | null;
    readonly servers: readonly ParentServerDs[];
    /** The parent zone that is served here and takes the DS records by itself. */
    readonly takenBy: string | undefined;
    /** One that is served here, and does not. */
    readonly couldTake: WillingParent | undefined;
  };
}

export async function signingStatus(ctx: Context, zoneId: string): Promise<SigningStatus> {
  const { status, denial } = await getDnssec(ctx, zoneId);
  return ctx.store.snapshot(() => {
    const { store, clock, settings } = ctx;
    const zone = requireZone(ctx, zoneId);
    const state = stateOfSigning(store, zone, settings.nameServers);
    const parent = parentOf(store, zone.seq);
    const dnskeys = keysOfZone(store, zone.seq).filter((key) => key.published === 1 && isEntryPoint(key));
    const isBogus =
      state?.row.phase === 'signed' &&
      isBogusBelow(
        agreedDs(parent),
        zone.apex,
        dnskeys.map((key) => key.public),
      );
    const now = Math.floor(clock.nowMs() / 1000);
    return {
      status,
      denial,
      signedOwners: state?.owners ?? 0,
      progress:
        state && state.row.phase !== 'signed' ? Math.min(1, state.owners / Math.max(1, zone.record_count)) : undefined,
      firstExpiry: state?.earliestExpiry === undefined ? undefined : state.earliestExpiry * 1e6,
      due: state
        ? countDueSignatures(store, zone.seq, now + refreshSpanOfZone(zone, state.row, settings.nameServers))
        : 0,
      failure: isBogus
        ? 'the DS records at the parent point to no key of this zone, so resolvers reject all of its answers'
        : undefined,
      signals: signalNames(ctx, zone.id),
      parent: {
        checkedAt: parent.checked_at,
        servers: JSON.parse(parent.servers) as ParentServerDs[],
        takenBy: state && delegationTaken(ctx, zone)?.parent.name,
        couldTake: state && !isSignedElsewhere(state.row) ? willingParent(ctx, zone) : undefined,
      },
    };
  });
}
