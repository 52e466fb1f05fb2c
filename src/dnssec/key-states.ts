/**
 * The states of a zone's keys, and the steps of a rollover with what each one waits for (RFC 7583, RFC 6781 §4.1).
 *
 * ZSK: published, then active while the old one is retired (pre-publication, RFC 7583 §3.2.1). KSK: published and
 * signing, then active while the old one is retired until every server of the parent has the new DS (double KSK, RFC 7583
 * §3.3.1). Algorithm: signatures before keys on the way in, keys before signatures on the way out (RFC 6781 §4.1.4). A key for
 * everything, which other programs make, is replaced by a KSK and a ZSK together.
 */

/** 'csk': a key for everything. */
export type KeyRole = 'ksk' | 'zsk' | 'csk';

/**
 * `presigning`: a key of a new algorithm, whose signatures come before it. `withdrawn`: the last state of a key of an old
 * algorithm, whose signatures stay after it.
 */
export type KeyState = 'presigning' | 'published' | 'active' | 'retired' | 'withdrawn';

/** What a key does in a state. */
export interface KeyDuties {
  /** Whether it is in the DNSKEY RRset. */
  readonly isPublished: boolean;
  /** Whether it makes signatures: a KSK of DNSKEY, CDS and CDNSKEY, a ZSK of all else, see {@link signsRecords}. */
  readonly signs: boolean;
  /** Whether CDS and CDNSKEY name it, for a KSK. */
  readonly isNamedToParent: boolean;
}

const DUTIES: Readonly<Record<KeyRole, Readonly<Record<KeyState, KeyDuties>>>> = {
  ksk: {
    presigning: { isPublished: false, signs: false, isNamedToParent: false },
    published: { isPublished: true, signs: true, isNamedToParent: false },
    active: { isPublished: true, signs: true, isNamedToParent: true },
    retired: { isPublished: true, signs: true, isNamedToParent: false },
    withdrawn: { isPublished: false, signs: false, isNamedToParent: false },
  },
  zsk: {
    presigning: { isPublished: false, signs: true, isNamedToParent: false },
    published: { isPublished: true, signs: false, isNamedToParent: false },
    active: { isPublished: true, signs: true, isNamedToParent: false },
    retired: { isPublished: true, signs: false, isNamedToParent: false },
    withdrawn: { isPublished: false, signs: true, isNamedToParent: false },
  },
  // No new ones are made.
  csk: {
    presigning: { isPublished: false, signs: true, isNamedToParent: false },
    published: { isPublished: true, signs: true, isNamedToParent: false },
    active: { isPublished: true, signs: true, isNamedToParent: true },
    retired: { isPublished: true, signs: true, isNamedToParent: false },
    withdrawn: { isPublished: false, signs: true, isNamedToParent: false },
  },
};

export function dutiesOf(role: KeyRole, state: KeyState): KeyDuties {
  return DUTIES[role][state];
}

/** What tells which keys sign records. */
interface SigningRole {
  readonly role: KeyRole;
  readonly algorithm: number;
  readonly signs: boolean;
}

/** Whether a key signs other RRsets than DNSKEY, CDS and CDNSKEY; one for everything leaves them to a ZSK of its algorithm. */
export function signsRecords({ role, algorithm, signs }: SigningRole, keys: readonly SigningRole[]): boolean {
  if (!signs || role === 'ksk') return false;
  return role === 'zsk' || !keys.some((key) => key.role === 'zsk' && key.algorithm === algorithm && key.signs);
}

/** Whether a DS record may point to a key with this role. */
export function isEntryRole(role: KeyRole): boolean {
  return role !== 'zsk';
}

export interface KeyFacts {
  /** Number in the store. */
  readonly seq: number;
  readonly role: KeyRole;
  readonly algorithm: number;
  readonly tag: number;
  readonly state: KeyState;
  /** When it entered the state, in seconds since 1970. */
  readonly since: number;
}

/** What is known about a zone whose keys are judged. Times in seconds since 1970, durations in seconds. */
export interface RolloverFacts {
  readonly now: number;
  readonly dnskeyTtl: number;
  /** The largest TTL of any answer. */
  readonly largestTtl: number;
  /** Until all servers of the zone answer a change. */
  readonly propagation: number;
  /** When the last stored signature of a key was replaced; undefined while there are any. */
  lastSignatureReplaced(key: KeyFacts): number | undefined;
  /** When every RRset had a signature of a key; undefined while some have none. */
  signedEverywhereSince(key: KeyFacts): number | undefined;
  readonly parent: ParentDs;
}

/** What the servers of the parent answer. */
export interface ParentDs {
  /** Key tags with an algorithm in the DS RRset that all servers of the parent agree on; undefined while they do not. */
  readonly keys: readonly { readonly tag: number; readonly algorithm: number }[] | undefined;
  /** Since when all servers have answered this. */
  readonly since: number;
  /** How long resolvers remember the DS RRsets from before that, seconds after it. */
  readonly ttl: number;
}

export type WaitReason = 'dnskey-ttl' | 'new-signatures' | 'old-signatures' | 'largest-ttl' | 'parent-ds' | 'ds-ttl';

export interface KeyWait {
  readonly key: KeyFacts;
  readonly waitingFor: WaitReason;
  /** When it is over at the earliest, in seconds since 1970; undefined when it depends on something else. */
  readonly until: number | undefined;
}

/** A key that enters a state, or goes. */
export interface KeyStep {
  readonly key: KeyFacts;
  readonly to: KeyState | 'removed';
}

export interface Judgement {
  /** All of them belong in one change of the zone. */
  readonly steps: readonly KeyStep[];
  readonly waits: readonly KeyWait[];
}

type Verdict = { readonly waitingFor: WaitReason; readonly until: number | undefined } | 'over';

/** The steps that are due, and what the others wait for. Keys at rest are in neither list. */
export function judgeKeys(keys: readonly KeyFacts[], facts: RolloverFacts): Judgement {
  const steps: KeyStep[] = [];
  const waits: KeyWait[] = [];
  for (const key of keys) {
    const verdict = judgeKey(key, keys, facts);
    if (verdict === undefined) continue;
    if (verdict === 'over') steps.push(...stepsOf(key, keys));
    else waits.push({ key, ...verdict });
  }
  return { steps, waits };
}

/** What a key waits for in its state; undefined when it is at rest, or moves together with another key. */
function judgeKey(key: KeyFacts, keys: readonly KeyFacts[], facts: RolloverFacts): Verdict | undefined {
  const { role, state, since } = key;
  const known = facts.dnskeyTtl + facts.propagation;
  switch (state) {
    case 'presigning':
      // The KSK of a new algorithm enters the zone together with its ZSK.
      return role === 'ksk' ? undefined : after(facts, facts.signedEverywhereSince(key), 'new-signatures');
    case 'published':
      return until(facts.now, since + known, 'dnskey-ttl');
    case 'active':
      return undefined;
    case 'retired':
      return judgeRetired(key, keys, facts);
    case 'withdrawn':
      return until(facts.now, since + known, 'dnskey-ttl');
  }
}

function judgeRetired(key: KeyFacts, keys: readonly KeyFacts[], facts: RolloverFacts): Verdict {
  if (key.role === 'zsk') return judgeRetiredZsk(key, facts);
  const verdict = judgeRetiredKsk(key, keys, facts);
  // In a rollover of the algorithm its signatures of records stay until it is withdrawn.
  const isReplaced = key.role === 'csk' && !stillSignsRecords(key, keys);
  return verdict === 'over' && isReplaced ? judgeRetiredZsk(key, facts) : verdict;
}

function stillSignsRecords(key: KeyFacts, keys: readonly KeyFacts[]): boolean {
  const withDuties = (one: KeyFacts) => ({ ...one, signs: dutiesOf(one.role, one.state).signs });
  return signsRecords(withDuties(key), keys.map(withDuties));
}

/** The old ZSK stays in the DNSKEY RRset while a resolver may hold one of its signatures (RFC 7583 §3.2.1). */
function judgeRetiredZsk(key: KeyFacts, facts: RolloverFacts): Verdict {
  return after(facts, facts.lastSignatureReplaced(key), 'old-signatures');
}

/** The old KSK stays while a resolver may hold the DS that points to it (RFC 7583 §3.3.1). */
function judgeRetiredKsk(
  key: KeyFacts,
  keys: readonly KeyFacts[],
  { now, parent, propagation }: RolloverFacts,
): Verdict {
  const named = keys.filter((other) => dutiesOf(other.role, other.state).isNamedToParent);
  const isAt = ({ tag, algorithm }: KeyFacts): boolean =>
    parent.keys?.some((ds) => ds.tag === tag && ds.algorithm === algorithm) ?? false;
  if (!named.some(isAt) || isAt(key)) return { waitingFor: 'parent-ds', until: undefined };
  return until(now, Math.max(parent.since, key.since) + parent.ttl + propagation, 'ds-ttl');
}

/** The steps of a key whose wait is over, with those of the keys that move with it. */
function stepsOf(key: KeyFacts, keys: readonly KeyFacts[]): KeyStep[] {
  const { role, state, algorithm } = key;
  const others = keys.filter((other) => other.seq !== key.seq);
  // An old KSK of another algorithm is replaced, too; its ZSKs sign until the parent knows the new one.
  const replaced = others.filter(
    (other) =>
      isEntryRole(other.role) === isEntryRole(role) &&
      other.state === 'active' &&
      (isEntryRole(role) || other.algorithm === algorithm),
  );
  switch (state) {
    case 'presigning': {
      const ksks = others.filter(
        (other) => other.role === 'ksk' && other.state === 'presigning' && other.algorithm === algorithm,
      );
      return [{ key, to: 'active' }, ...ksks.map((ksk): KeyStep => ({ key: ksk, to: 'published' }))];
    }
    case 'published':
      return [{ key, to: 'active' }, ...replaced.map((old): KeyStep => ({ key: old, to: 'retired' }))];
    case 'retired':
      return isEntryRole(role) && !hasOther(keys, key) ? withdrawAlgorithm(key, keys) : [{ key, to: 'removed' }];
    default:
      return [{ key, to: 'removed' }];
  }
}

/** The keys of an old algorithm leave the DNSKEY RRset together; the signatures of records stay for a while. */
function withdrawAlgorithm(entry: KeyFacts, keys: readonly KeyFacts[]): KeyStep[] {
  const leaving = keys.filter(
    ({ seq, role, algorithm }) => seq === entry.seq || (role === 'zsk' && algorithm === entry.algorithm),
  );
  return leaving.map((key): KeyStep => ({ key, to: stillSignsRecords(key, keys) ? 'withdrawn' : 'removed' }));
}

/** Whether another key of the same algorithm, to which a DS record may point, is in use. */
function hasOther(keys: readonly KeyFacts[], { seq, algorithm }: KeyFacts): boolean {
  return keys.some(
    ({ seq: other, role, algorithm: its, state }) =>
      other !== seq && isEntryRole(role) && its === algorithm && dutiesOf(role, state).signs,
  );
}

/** Over when answers from before a moment are in no cache any more. */
function after(
  { now, largestTtl, propagation }: RolloverFacts,
  moment: number | undefined,
  before: WaitReason,
): Verdict {
  if (moment === undefined) return { waitingFor: before, until: undefined };
  return until(now, moment + largestTtl + propagation, 'largest-ttl');
}

function until(now: number, moment: number, waitingFor: WaitReason): Verdict {
  return now >= moment ? 'over' : { waitingFor, until: moment };
}

const WAITS: Readonly<Record<WaitReason, string>> = {
  'dnskey-ttl': 'resolvers may still have the keys as they were before',
  'new-signatures': 'not everything is signed with the key yet',
  'old-signatures': 'there are still signatures of the key',
  'largest-ttl': 'resolvers may still have answers with other signatures',
  'parent-ds':
    'the parent must publish the DS record of the new key, and remove that of the old one, on all of its servers',
  'ds-ttl': 'resolvers may still have the old DS record',
};

/** What a wait is for, in words. */
export function describeWait(reason: WaitReason): string {
  return WAITS[reason];
}
