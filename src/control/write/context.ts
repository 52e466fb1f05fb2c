/** What every use case is given: who asks, on which store, at what time, under which settings. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { Random } from '../../base/random.js';
import type { UpstreamAnswer, UpstreamType } from '../../resolver/upstream.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import type { Policy, RecordScope } from '../access/permissions.js';
import type { Precondition } from './precondition.js';
import type { WriteOutcome } from './zone-outcome.js';

/** Who asks. Identifiers are 32 lower-case hexadecimal digits. */
export interface Actor {
  /** Empty for the operator at the command line. */
  readonly userId: string;
  readonly email: string;
  readonly kind: 'key' | 'token' | 'operator';
  /** Sees and edits every account. */
  readonly superAdministrator: boolean;
  /** Accounts the actor may work in, the default one first. */
  readonly accountIds: readonly string[];
  /** Limits the actor to these zones; undefined = all zones of the accounts. */
  readonly zoneIds?: readonly string[];
  /** May look, not change. */
  readonly readOnly: boolean;
  /** What a token's policies let it do; undefined: all its user may. */
  readonly policies?: readonly Policy[];
  /** Limits this request to records in one of these scopes. */
  readonly recordScopes?: readonly RecordScope[];
  /** The credential used; undefined for the operator. */
  readonly keyId?: string;
}

/** The person at the command line of the machine: may do everything. */
export const OPERATOR: Actor = {
  userId: '',
  email: 'operator@localhost',
  kind: 'operator',
  superAdministrator: true,
  accountIds: [],
  readOnly: false,
};

export type Source = 'api' | 'cli' | 'import' | 'service';

/** Limits the v4 service has by plan. */
export interface ControlLimits {
  /** Shortest TTL a client may set, seconds (v4: §5.3). */
  readonly minimumTtl: number;
  readonly maximumTtl: number;
  /** Comment length in Unicode code points. */
  readonly commentLength: number;
  readonly tagsPerRecord: number;
  /** Records a zone may hold; undefined = no quota. */
  readonly recordsPerZone?: number;
  readonly batchOperations: number;
}

export const DEFAULT_LIMITS: ControlLimits = {
  minimumTtl: 60,
  maximumTtl: 86400,
  commentLength: 100,
  tagsPerRecord: 20,
  batchOperations: 3500,
};

export interface ControlSettings extends ServingSettings {
  /** Addresses no A or AAAA record may hold: the service's own (v4: §5.10). */
  readonly ownAddresses: readonly Uint8Array[];
  /** Whether a new zone is active at once or waits for its delegation. */
  readonly activation: 'trust' | 'delegation';
  readonly limits: ControlLimits;
}

/** Asks recursive resolvers, and never our own zones. */
export type AskOutside = (name: string, type: UpstreamType) => Promise<UpstreamAnswer>;

export interface Context {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly settings: ControlSettings;
  readonly actor: Actor;
  readonly requestId: string;
  readonly source: Source;
  /** Where the request came from; absent at the command line. */
  readonly address?: string;
  /** The state a zone must be in for the request to be done. */
  readonly precondition?: Precondition;
  /** Everything is checked and worked out, and nothing of it is kept. */
  readonly dryRun?: boolean;
  /** Commits of this request write down here what became of the zones, for its receipt. */
  readonly outcome?: WriteOutcome;
  /** Name servers the parent delegates a name to; undefined when it is not delegated. Needed for activation 'delegation'. */
  readonly findDelegation?: (name: string) => Promise<readonly string[] | undefined>;
  /** Resolvers of the outside world, for scans; absent where there are none to ask. */
  readonly askOutside?: AskOutside;
}

/** Everything of a context that stays the same from request to request. */
export type ContextBase = Omit<
  Context,
  'actor' | 'requestId' | 'source' | 'address' | 'precondition' | 'dryRun' | 'outcome'
>;

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** 1-based, as asked. */
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
