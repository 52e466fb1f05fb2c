/** Signing in as in the program, with messages that are kept instead of sent. */
import type { ContextBase } from '../../src/control/kernel/context.js';
import type { HostnameServices } from '../../src/hostnames/context.js';
import { createSignInServices, type Message, type SignInServices } from '../../src/sign-in/services.js';

/** Every message is added to `mails`. */
export function signInServices(
  base: ContextBase,
  { certificates: { vault }, resolver }: Pick<HostnameServices, 'certificates' | 'resolver'>,
  settings: Partial<SignInServices['settings']> = {},
  mails: Message[] = [],
): SignInServices {
  const sendMail = async (message: Message): Promise<void> => void mails.push(message);
  const own = { passwords: true, confirmDeletions: true, ...settings };
  return createSignInServices({ base, vault, settings: own, sendMail }, resolver);
}
