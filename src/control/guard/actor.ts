/** Who makes a request. */
import type { Policy, RecordScope } from './permissions.js';
import type { Grant } from './roles.js';

/** The originator of a request. Identifiers are 32 lower-case hexadecimal digits. */
export interface Actor {
  /** Empty for the operator at the command line. */
  readonly userId: string;
  readonly email: string;
  /** `session`: a person who signed in as themself. */
  readonly kind: 'key' | 'token' | 'session' | 'tsig' | 'operator';
  /** Sees and edits every account. */
  readonly superAdministrator: boolean;
  /** Accounts in which the actor may work, the default one first. */
  readonly accountIds: readonly string[];
  /** Restricts the actor to these zones; undefined = all zones of the accounts. */
  readonly zoneIds?: readonly string[];
  /** May read, but not change. */
  readonly readOnly: boolean;
  /** The permissions from a token's policies; undefined: all permissions of its user. */
  readonly policies?: readonly Policy[];
  /**
   * What the roles and policies of its user give now, by account, for accounts in which they do not give everything. A credential of
   * the user does what both it and these allow.
   */
  readonly grants?: Readonly<Record<string, readonly Grant[]>>;
  /** The zones that its user sees in accounts of `grants`, where it is not all or none that the account has. */
  readonly zonesIn?: Readonly<Record<string, readonly string[]>>;
  /** Restricts this request to records in one of these scopes. */
  readonly recordScopes?: readonly RecordScope[];
  /** The credential of the request; undefined for the operator. */
  readonly keyId?: string;
  /** What its owner calls the credential. */
  readonly keyName?: string;
}

/** The turn of an actor's work that is about no account more than about others. */
export function ownTurn({ accountIds, userId, kind }: Actor): string {
  return accountIds[0] ?? (userId === '' ? kind : userId);
}

/** The operator at the machine's command line, who may do everything. */
export const OPERATOR: Actor = {
  userId: '',
  email: 'operator@localhost',
  kind: 'operator',
  superAdministrator: true,
  accountIds: [],
  readOnly: false,
};
