/** What a browser must know of its session to show the right screen. */
import { countRecoveryCodes } from '../store/access/factors.js';
import { type InvitationRow, invitationsOfUser } from '../store/access/invitations.js';
import { findPassword } from '../store/access/passwords.js';
import { lacksSecondFactor } from './enforcement.js';
import { findOwn, isFresh, mayChoose } from './password.js';
import type { SignInServices } from './services.js';

export interface SessionFacts {
  /** Whether somebody signed in as themself. */
  readonly person: boolean;
  readonly how: readonly string[];
  readonly mustEnrol: boolean;
  /** Whether there is no password, and this session may choose the first. */
  readonly mayChoosePassword: boolean;
  readonly recoveryCodes: number;
  /** Number of invitations that wait for an answer. */
  readonly invitations: number;
}

/** Undefined for requests without a session. */
export function sessionFacts(
  { base: { store, clock }, settings }: SignInServices,
  sessionId: string | undefined,
): SessionFacts | undefined {
  const own = findOwn(store, sessionId);
  if (!own) return undefined;
  const { session, user } = own;
  const isOpen = (one: InvitationRow): boolean => one.status === 'pending' && one.expires_at > clock.nowUs();
  const person = session.credential === null;
  return {
    person,
    how: session.how.split(' '),
    mustEnrol: person && lacksSecondFactor(store, session),
    mayChoosePassword:
      settings.passwords &&
      findPassword(store, user.seq) === undefined &&
      isFresh(session, clock.nowUs()) &&
      mayChoose(own, clock.nowUs()),
    recoveryCodes: countRecoveryCodes(store, user.seq),
    invitations: invitationsOfUser(store, user.seq).filter(isOpen).length,
  };
}
