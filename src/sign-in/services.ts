/** What sign-ins need, and who asks. */
import type { Actor } from '../control/guard/actor.js';
import type { Context, ContextBase } from '../control/kernel/context.js';
import type { Resolver } from '../resolver/resolve.js';
import type { Vault } from '../vault/vault.js';
import type { PasswordHashes } from './hash.js';
import { createPasswordHashes } from './hash.js';
import { createLetters, type Letters } from './letters.js';
import { createSignInLimits, type SignInLimits } from './limits.js';
import { createProviderClients, type ProviderClients } from './oidc/client.js';

export interface SignInSettings {
  /** Whether passwords are accepted at all. */
  readonly passwords: boolean;
  /** Where browsers reach the dashboard, without a final slash; links are made of it, never of what a request says. */
  readonly publicUrl?: string;
  /** Whether the deletion of zones and accounts needs a confirmation. */
  readonly confirmDeletions: boolean;
}

/** A message to a user. */
export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Whose turn it takes at the mail server: who asked for it, and to whom it goes. */
  readonly turn: readonly [string, string];
}

export interface SignInServices {
  readonly base: ContextBase;
  readonly settings: SignInSettings;
  readonly vault: Vault;
  readonly hashes: PasswordHashes;
  readonly limits: SignInLimits;
  readonly providers: ProviderClients;
  readonly resetLetters: Letters;
  readonly inviteLetters: Letters;
  /** Absent: nobody can be written to. */
  readonly sendMail?: (message: Message) => Promise<void>;
}

const RESET_LETTERS = { to: 3, of: 10, inAll: 200 };
/** Accounts also have a daily limit of invitations. */
const INVITE_LETTERS = { to: 3, of: 50, inAll: 500 };

export function createSignInServices(
  parts: Pick<SignInServices, 'base' | 'settings' | 'vault' | 'sendMail'>,
  resolver: Resolver,
): SignInServices {
  const { clock, random, log } = parts.base;
  return {
    ...parts,
    hashes: createPasswordHashes(clock, random),
    limits: createSignInLimits(clock),
    providers: createProviderClients({ ...parts, resolver }),
    resetLetters: createLetters(clock, log, RESET_LETTERS),
    inviteLetters: createLetters(clock, log, INVITE_LETTERS),
  };
}

/** Where a request comes from. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** As the request says; it decides nothing but whether a browser is on this machine. */
  readonly host?: string;
}

export function contextFor(
  { base }: Pick<SignInServices, 'base'>,
  { address, requestId }: Visitor,
  actor: Actor,
): Context {
  return { ...base, actor, requestId, source: 'api', address };
}
