/** Delivers invitations: by mail, or as a link that an administrator hands on. */
import { accountItem } from '../control/access/accounts.js';
import { requireAccount } from '../control/guard/access.js';
import type { Context } from '../control/kernel/context.js';
import type { MemberItem } from '../control/people/item.js';
import { findUser, findUserByEmail, type UserRow } from '../store/access/users.js';
import { answersForAddress } from './connectors.js';
import { contextOfService, createFirstLink, userLinkAt } from './links.js';
import type { SignInServices, Visitor } from './services.js';
import { isUnclaimed } from './unclaimed.js';

interface Invited {
  readonly accountId: string;
  readonly member: MemberItem;
}

/** Queues a message to a pending member. Returns false if mail is not possible or too many messages were sent. */
export function mailInvitation(
  services: SignInServices,
  visitor: Visitor,
  ctx: Context,
  { accountId, member }: Invited,
): boolean {
  const { sendMail, settings, inviteLetters } = services;
  const { publicUrl } = settings;
  const user = member.status === 'pending' ? findUserByEmail(ctx.store, member.email) : undefined;
  if (!sendMail || publicUrl === undefined || !user) return false;
  if (!inviteLetters.count(user.email.toLowerCase(), accountId)) return false;
  const { name } = accountItem(requireAccount(ctx, accountId));
  const { email: inviter } = ctx.actor;
  inviteLetters.later(accountId, async () => {
    // The inviter does not learn that the user is suspended.
    if (findUser(ctx.store, user.seq)?.suspended !== 0) return;
    const link = needsLink(services, user)
      ? userLinkAt(publicUrl, 'password', await createFirstLink(contextOfService(services, visitor), user))
      : undefined;
    const text = textOf({ name, inviter, publicUrl, link });
    await sendMail({ to: user.email, subject: 'An invitation', text, turn: [accountId, user.email] });
  });
  return true;
}

/**
 * The link with which an invited user chooses a password, relative without `public-url`; undefined if none is allowed or needed.
 * Whoever has it becomes the user of the address, so only an administrator of the installation, or a super administrator of the
 * account that owns the domain at this moment, may see it.
 */
export async function firstLink(
  services: SignInServices,
  ctx: Context,
  { accountId, member: { email } }: Invited,
): Promise<string | undefined> {
  if (!ctx.actor.superAdministrator && !(await answersForAddress(ctx, accountId, email))) return undefined;
  const user = findUserByEmail(ctx.store, email);
  if (!user || user.suspended === 1 || !needsLink(services, user)) return undefined;
  return userLinkAt(services.settings.publicUrl ?? '', 'password', await createFirstLink(ctx, user));
}

function needsLink({ base: { store }, settings }: SignInServices, user: UserRow): boolean {
  return settings.passwords && isUnclaimed(store, user);
}

interface Letter {
  readonly name: string;
  readonly inviter: string;
  readonly publicUrl: string;
  readonly link: string | undefined;
}

function textOf({ name, inviter, publicUrl, link }: Letter): string {
  return [
    `${oneLine(inviter)} invites you to the account “${oneLine(name)}” at ${publicUrl}.`,
    ...(link === undefined
      ? ['Sign in there within seven days to answer:', publicUrl]
      : ['Choose a password here within seven days, then sign in to answer:', link]),
    'If you do not know what this is about, ignore this message: nothing will happen.',
    '',
  ].join('\n\n');
}

/** Keeps text that others chose short and within one line of the message. */
function oneLine(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 100);
}
