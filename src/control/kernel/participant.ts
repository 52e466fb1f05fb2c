/**
 * What takes part in the end of a write: what follows from the edits of a zone without being edits. The kernel calls all
 * participants in their order (../participants.ts) and knows none of them. They read and write the database and nothing else; only
 * `stage` and `sign` are called outside of a write.
 */
import type { Difference } from '../../serving/difference.js';
import type { ServingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import type { ChangedRR, ChangeKind } from '../../store/log/changes.js';
import type { ZoneChange, ZoneRow } from '../../store/zones/zones.js';
import type { RecordChange, RecordEdits } from './record-edits.js';
import type { OwnerAfter, PlannedSignatures, StagedSignatures, TouchedZone } from './touched-zone.js';
import type { MadeSignatures } from './zone-keys.js';

/** A zone at the end of the write that touched it. */
export interface ZoneEnd {
  readonly touched: TouchedZone;
  /** Its row and what it serves after the edits, and the records of the touched owners. */
  readonly row: ZoneRow;
  readonly zone: ServingZone;
  readonly owners: readonly OwnerAfter[];
}

/** What a participant adds to what resolvers see. */
export interface Addition {
  /** What changed at the touched owners together with it; undefined when these are not the whole difference. */
  readonly difference?: Difference | undefined;
  /** Of which kind the change is, instead of what the kernel finds; throws when the zone cannot have it. */
  kind?(difference: Difference | undefined): ChangeKind | undefined;
  /** Completes it with the new serial; undefined: nothing changed. Returns the records that were removed and added. */
  finish?(serial: number | undefined): ChangedRR[];
}

/** Edits of zones that follow from others. */
export interface ZoneEdits extends RecordEdits {
  setZone(seq: number, change: ZoneChange): void;
  noteZone(seq: number, kind: 'zone-replaced'): void;
}

/** Signatures that threads are making for edits before their write. */
export interface SignedEdits {
  /** Whether it is known what changes for resolvers; otherwise the write has to find that out. */
  readonly isKnown: boolean;
  readonly made: Promise<MadeForEdits>;
}

export interface MadeForEdits {
  readonly signatures: MadeSignatures;
  /** What changes for resolvers, and what the write stores for it; undefined when it is not known. */
  readonly change: { readonly difference: Difference; readonly planned: PlannedSignatures } | undefined;
}

export interface Participant<Context> {
  /**
   * Edits other zones because of edits in this one (store number), before any zone ends. `linked`: edits of linked records;
   * `delegated`: names whose delegation may have changed, undefined if it may be any. The service makes these edits itself, so the permissions of the actor do not restrict them.
   */
  settle?(
    ctx: Context,
    edits: ZoneEdits,
    zone: number,
    what: { readonly linked: readonly RecordChange[]; readonly delegated: ReadonlySet<string> | undefined },
  ): void;
  /** Writes rows that say something about the edited records. */
  derive?(ctx: Context, end: ZoneEnd): void;
  add?(ctx: Context, end: ZoneEnd): Addition | undefined;
  /** Writes rows for what is due later. `kind`: undefined when nothing changed for resolvers. */
  after?(ctx: Context, end: ZoneEnd, kind: ChangeKind | undefined): void;
  /** The same for a zone that was removed. `zone`: its row before. */
  removed?(ctx: Context, zone: ZoneRow): void;
  /**
   * Stores what it will add to the records that a zone is to get in one write; undefined when that is nothing. `row`: as the zone will
   * be; `reader`: a handle that shows it so; `outdated`: what was stored for an earlier attempt.
   */
  stage?(
    ctx: Context,
    row: ZoneRow,
    outdated: StagedSignatures | undefined,
    reader: Store,
  ): Promise<StagedSignatures | undefined>;
  /**
   * Lets threads make the signatures that edits will need, and resolves when all is read for them; undefined when they need none. `row`:
   * as the zone will be; `owners`: all edited ones; `reader`: a handle that shows nothing that is written meanwhile; `known`: what was made
   * for an earlier attempt.
   */
  sign?(
    ctx: Context,
    row: ZoneRow,
    owners: Iterable<OwnerAfter>,
    reader: Store,
    known: MadeSignatures | undefined,
  ): Promise<SignedEdits | undefined>;
  /** Whether what was stored still fits the zone as it will be. Inside the write. */
  fits?(ctx: Context, row: ZoneRow, staged: StagedSignatures): boolean;
}
