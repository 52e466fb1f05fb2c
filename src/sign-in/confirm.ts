/** A person proves once more who they are, before what cannot be taken back lightly. */
import { makeSecret } from '../control/access/keys.js';
import { renewSession } from '../control/access/sessions.js';
import { commit } from '../control/kernel/commit.js';
import { type BegunSession, contextOfPerson } from './begin.js';
import { signInFailure } from './failures.js';
import { networkOf } from './limits.js';
import { checkPassword, noteWrong, requirePerson } from './password.js';
import type { SignInServices, Visitor } from './services.js';

export interface Confirmation {
  readonly password?: string | undefined;
}

/** The session counts as fresh afterwards, and has a new secret. */
export async function confirm(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  { password }: Confirmation,
): Promise<BegunSession> {
  const { base, limits } = services;
  const own = requirePerson(base.store, sessionId);
  const { user } = own;
  if (password === undefined) throw signInFailure('badInput', { reason: 'A factor is missing, such as the password.' });
  const attempt = limits.begin(`confirm ${user.seq}`, networkOf(visitor.address));
  if (!(await checkPassword(services, visitor, user, password))) {
    noteWrong(services, visitor, 'password', user);
    throw signInFailure('wrongPassword', {}, { pointer: '/password' });
  }
  attempt.succeeded();
  const secret = makeSecret(base);
  const ctx = contextOfPerson(services, visitor, user.seq);
  const { value } = await commit(ctx, (draft) => {
    const { session } = requirePerson(base.store, sessionId);
    draft.event({ kind: 'session.confirm', id: session.id, name: user.email, after: { how: 'password' } });
    const how = [...new Set([...session.how.split(' '), 'password'])].join(' ');
    return { session: renewSession(ctx, draft, session, secret, how), secret };
  });
  return value;
}
