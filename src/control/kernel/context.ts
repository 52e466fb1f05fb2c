/** The context of every use case: the actor, the store, the clock and the settings. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { Random } from '../../base/random.js';
import type { AllowedNetwork, Egress } from '../../egress/egress.js';
import type { FindParentDs } from '../../resolver/parent-ds.js';
import type { UpstreamAnswer, UpstreamType } from '../../resolver/upstream.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { DiskRoom } from '../../store/disk-room.js';
import type { Store } from '../../store/driver.js';
import type { Actor } from '../guard/actor.js';
import type { Precondition } from '../guard/precondition.js';
import type { Participant } from './participant.js';
import type { ReadPoint } from './read-point.js';
import type { SecretAccessKeys } from './secret-access-keys.js';
import type { MadeSignatures, ZoneKeys } from './zone-keys.js';
import type { WriteOutcome } from './zone-outcome.js';

/** `transfer`: from the primary of a zone. */
export type Source = 'api' | 'cli' | 'import' | 'update' | 'service' | 'transfer';

/** Limits that depend on the plan in the v4 service. */
export interface ControlLimits {
  /** The shortest TTL that a client may set, in seconds (v4: §5.3). */
  readonly minimumTtl: number;
  readonly maximumTtl: number;
  /** The longest comment, in Unicode code points. */
  readonly commentLength: number;
  readonly tagsPerRecord: number;
  /** The largest number of records in a zone; undefined = no quota. */
  readonly recordsPerZone?: number;
  readonly batchOperations: number;
  /** Networks of origins of proxied records, beside public addresses. */
  readonly origins: readonly AllowedNetwork[];
  readonly balancing: BalancingLimits;
}

export interface BalancingLimits {
  /** The shortest interval of a monitor, in seconds. */
  readonly minimumInterval: number;
  readonly originsPerPool: number;
  /** Whether probes may send ICMP messages. */
  readonly mayPing: boolean;
}

export const DEFAULT_LIMITS: ControlLimits = {
  minimumTtl: 60,
  maximumTtl: 86400,
  commentLength: 100,
  tagsPerRecord: 20,
  batchOperations: 3500,
  origins: [],
  balancing: { minimumInterval: 5, originsPerPool: 200, mayPing: false },
};

export interface ControlSettings extends ServingSettings {
  /** The service's own addresses, which A and AAAA records must not contain (v4: §5.10). */
  readonly ownAddresses: readonly Uint8Array[];
  /**
   * Whether a new zone is active at once or waits for a proof of whose its name is. 'auto': at once while there is one account. With
   * 'delegation' it waits even if an administrator makes it.
   */
  readonly activation: 'auto' | 'trust' | 'delegation';
  /** Further host names of this installation, lower case, without final dots: nobody but administrators adds zones at them. */
  readonly hostNames?: readonly string[];
  /** Whether only administrators may add suffixes that companies run, as for those of registries. */
  readonly privateSuffixes: 'allow' | 'refuse';
  readonly limits: ControlLimits;
}

/** Asks recursive resolvers, never our own zones. `account`: store number of whose turn it takes. */
export type AskOutside = (name: string, type: UpstreamType, account: number) => Promise<UpstreamAnswer>;

export interface Context {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly settings: ControlSettings;
  readonly participants: readonly Participant<Context>[];
  /** Decides to what may be connected. */
  readonly egress: Egress;
  readonly actor: Actor;
  readonly requestId: string;
  readonly source: Source;
  /** Source address of the request; absent at the command line. */
  readonly address?: string;
  /** The account whose turns it takes (guard/turn-of.ts); default: the actor's first one. */
  readonly turnOf?: string;
  /** The state that the zone must have for the request. */
  readonly precondition?: Precondition;
  /** Whether everything is checked and computed but nothing is kept. */
  readonly dryRun?: boolean;
  /** Commits of this request record the results for zones here, for its receipt. */
  readonly outcome?: WriteOutcome;
  /**
   * The name servers to which the parent delegates a name; undefined when it is not delegated. Required for activation
   * 'delegation'.
   */
  readonly findDelegation?: (name: string, account: number) => Promise<readonly string[] | undefined>;
  /** The DS records of a zone as every server of its parent has them; absent when nobody can be asked. */
  readonly findParentDs?: FindParentDs;
  /** Outside resolvers for scans; absent when none are configured. */
  readonly askOutside?: AskOutside;
  /** Room on the disk for what grows; absent at the command line, which may use the reserve. */
  readonly disk?: DiskRoom;
  /** Whether no server is running, so that longer writes keep nobody waiting; absent: this is one. */
  readonly isAlone?: () => boolean;
  /** Private keys of signed zones; without them such zones cannot be changed. */
  readonly zoneKeys?: ZoneKeys;
  /** Secrets of S3 clients; without them, new tokens have none. */
  readonly secretAccessKeys?: SecretAccessKeys;
  /** Throws when the actor may not do any more what it was permitted when the request came; asked inside its writes. */
  readonly requireStill?: () => void;
  /** Present if the request has not looked at the log of the cluster. */
  readonly readPoint?: ReadPoint;
  /** Signatures that were made for the write that is under way. */
  readonly signatures?: MadeSignatures | undefined;
}

/** The parts of a context that are the same for every request. */
export type ContextBase = Omit<
  Context,
  | 'actor'
  | 'requestId'
  | 'source'
  | 'address'
  | 'turnOf'
  | 'precondition'
  | 'dryRun'
  | 'outcome'
  | 'readPoint'
  | 'signatures'
  | 'requireStill'
>;

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** 1-based, as requested. */
  readonly page: number;
  readonly perPage: number;
  /** Items on all pages. */
  readonly totalCount: number;
}

export interface PageQuery {
  /** 1-based; 1 when absent. */
  readonly page?: number;
  readonly perPage?: number;
  readonly direction?: 'asc' | 'desc';
}

/** A page would take long to read or to write; nobody but the caller that has set a limit sees this. */
export class PageTooLong extends Error {}
