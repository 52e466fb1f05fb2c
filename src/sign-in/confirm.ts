/** A person proves once more who they are, before what cannot be taken back lightly. */
import { makeSecret } from '../control/access/keys.js';
import { renewSession } from '../control/access/sessions.js';
import { type BegunSession, contextOfPerson } from './begin.js';
import { requirePerson } from './password.js';
import { type FactorInput, withFactor } from './prove.js';
import type { SignInServices, Visitor } from './services.js';

/** The session counts as fresh afterwards, and has a new secret. */
export async function confirm(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  input: FactorInput,
): Promise<BegunSession> {
  const { base } = services;
  const { user } = requirePerson(base.store, sessionId);
  const ctx = contextOfPerson(services, visitor, user.seq);
  const secret = makeSecret(base);
  return withFactor(services, visitor, user, input, (draft, how) => {
    const { session } = requirePerson(base.store, sessionId);
    draft.event({ kind: 'session.confirm', id: session.id, name: user.email, after: { how } });
    const all = [...new Set([...session.how.split(' '), how])].join(' ');
    return { session: renewSession(ctx, draft, session, secret, all), secret };
  });
}
