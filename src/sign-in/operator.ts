/** What the operator of the machine does for users at the command line. */
import { systemRandom } from '../base/random.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { removeChallengesOfUser } from '../store/access/challenges.js';
import { removePasskeysOfUser, removeRecoveryCodes, removeTotp } from '../store/access/factors.js';
import { removeSessionsOfUser } from '../store/access/sessions.js';
import { createPasswordHashes } from './hash.js';
import { requireUser } from './links.js';
import { storePassword } from './password.js';
import { choosePassword } from './password-rules.js';

/** Sets the password of a user and ends the user's sessions. */
export async function setPasswordOf(ctx: Context, email: string, password: string): Promise<void> {
  if (ctx.actor.kind !== 'operator') throw accountFailure('notAllowed');
  const user = requireUser(ctx, email);
  const hash = await createPasswordHashes(ctx.clock, systemRandom).make(choosePassword(password, user.email), '');
  await commit(ctx, (draft) => storePassword(ctx, draft, requireUser(ctx, email), hash));
}

export interface RemovedFactors {
  readonly totp: boolean;
  readonly passkeys: number;
  readonly recoveryCodes: number;
}

/** Removes all second factors of a user, who has lost them, and ends the user's sessions. */
export async function removeFactorsOf(ctx: Context, email: string): Promise<RemovedFactors> {
  if (ctx.actor.kind !== 'operator') throw accountFailure('notAllowed');
  const { store } = ctx;
  const { value } = await commit(ctx, (draft) => {
    const user = requireUser(ctx, email);
    const removed = {
      totp: removeTotp(store, user.seq),
      passkeys: removePasskeysOfUser(store, user.seq),
      recoveryCodes: removeRecoveryCodes(store, user.seq),
    };
    removeSessionsOfUser(store, user.seq);
    removeChallengesOfUser(store, user.seq);
    draft.event({ kind: 'factors.remove', id: user.id, name: user.email, before: removed });
    return removed;
  });
  return value;
}
