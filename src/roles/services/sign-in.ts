/** What people need who sign in as themselves, from the settings. */
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { createMail } from '../../mail/mail.js';
import { createSignInServices, type SignInServices } from '../../sign-in/services.js';
import type { Vault } from '../../vault/vault.js';

export function startSignIn(settings: Settings, base: ContextBase, vault: Vault, lifecycle: Lifecycle): SignInServices {
  const { publicUrl, passwordSignIn, confirmDeletions } = settings;
  const send = startMail(settings, lifecycle);
  return createSignInServices({
    base,
    vault,
    settings: {
      passwords: passwordSignIn === 'on',
      confirmDeletions: confirmDeletions === 'on',
      ...(publicUrl !== undefined && { publicUrl }),
    },
    ...(send && { sendMail: send }),
  });
}

function startMail({ smtp, mailFrom, publicUrl }: Settings, lifecycle: Lifecycle): SignInServices['sendMail'] {
  if (smtp === undefined) return undefined;
  const from = mailFrom ?? `zoneplane@${new URL(publicUrl!).hostname}`;
  const mail = lifecycle.own('mail', createMail({ url: smtp, from }), (part) => part.close());
  return (message) => mail.send(message);
}
