/** What people need who sign in as themselves, from the settings. */
import type { Clock } from '../../base/clock.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { createMail, type Mail } from '../../mail/mail.js';
import type { Resolver } from '../../resolver/resolve.js';
import { createSignInServices, type SignInServices, type SignInSettings } from '../../sign-in/services.js';
import type { Vault } from '../../vault/vault.js';

export type SendMail = Mail['send'];

/** `send`: undefined where no mail can be sent. */
export function startSignIn(
  settings: Settings,
  base: ContextBase,
  vault: Vault,
  resolver: Resolver,
  send: SendMail | undefined,
): SignInServices {
  const { publicUrl, passwordSignIn, confirmDeletions } = settings;
  const own: SignInSettings = {
    passwords: passwordSignIn === 'on',
    confirmDeletions: confirmDeletions === 'on',
    ...(publicUrl !== undefined && { publicUrl }),
  };
  return createSignInServices({ base, vault, settings: own, ...(send && { sendMail: send }) }, resolver);
}

/** Undefined where no mail server is set. */
export function startMail(
  { smtp, mailFrom, publicUrl }: Settings,
  clock: Clock,
  lifecycle: Lifecycle,
): Mail | undefined {
  if (smtp === undefined) return undefined;
  const from = mailFrom ?? `zoneplane@${new URL(publicUrl!).hostname}`;
  return lifecycle.own('mail', createMail({ url: smtp, from }, clock), (part) => part.close());
}
