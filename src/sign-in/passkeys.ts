/** Passkeys (WebAuthn level 2): ES256, RS256, EdDSA, without attestation. They belong to the host of the public address. */
import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { messageOf } from '../base/errors.js';
import { hashSecret } from '../control/access/keys.js';
import { useProof } from '../store/access/challenges.js';
import { findPasskey, type PasskeyRow, passkeysOfUser, setPasskeyUsed } from '../store/access/factors.js';
import type { UserRow } from '../store/access/users.js';
import { signInFailure } from './failures.js';
import type { SignInServices, Visitor } from './services.js';
import { makeTicket, readTicket } from './ticket.js';
import type { UseCode } from './totp.js';

/** What browsers answer and are asked. */
export type PasskeyAnswer = AuthenticationResponseJSON;
export type NewPasskeyAnswer = RegistrationResponseJSON;
export type PasskeyQuestion = PublicKeyCredentialRequestOptionsJSON;
export type NewPasskeyQuestion = PublicKeyCredentialCreationOptionsJSON;

const CHALLENGE_MS = 60_000;
/** COSE: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];

/** To whom a browser proves something: the host of the public address, or this machine by its name. */
interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/** Undefined where browsers have no passkeys: at an address without a name. */
export function relyingParty({ settings }: SignInServices, { host }: Visitor): RelyingParty | undefined {
  const { publicUrl } = settings;
  if (publicUrl !== undefined) return { id: new URL(publicUrl).hostname, origin: publicUrl };
  // Whatever a request says, this is the machine of the browser itself.
  const isOwn = host !== undefined && /^localhost(:\d{1,5})?$/.test(host);
  return isOwn ? { id: 'localhost', origin: `http://${host}` } : undefined;
}

function requireParty(services: SignInServices, visitor: Visitor): RelyingParty {
  const party = relyingParty(services, visitor);
  if (!party) throw signInFailure('noPasskeys');
  return party;
}

const forUser = ({ seq }: UserRow): string => `passkey of ${seq}`;
const ANYBODY = 'passkey of anybody';

/** What the browser is asked. Without a user: for any passkey of this host, with the person verified. */
export function askForPasskey(
  services: SignInServices,
  visitor: Visitor,
  user?: UserRow,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { base } = services;
  const { id: rpID } = requireParty(services, visitor);
  return generateAuthenticationOptions({
    rpID,
    timeout: CHALLENGE_MS,
    challenge: makeTicket(base, user ? forUser(user) : ANYBODY, CHALLENGE_MS) as Uint8Array<ArrayBuffer>,
    userVerification: user ? 'preferred' : 'required',
    ...(user && { allowCredentials: passkeysOfUser(base.store, user.seq).map(described) }),
  });
}

function described({ id, transports }: PasskeyRow) {
  return {
    id: Buffer.from(id).toString('base64url'),
    transports: JSON.parse(transports) as AuthenticatorTransport[],
  };
}

export interface CheckedPasskey {
  readonly passkey: PasskeyRow;
  readonly use: UseCode;
}

/** Checks what an authenticator answered. Throws 403. */
export async function checkPasskey(
  services: SignInServices,
  visitor: Visitor,
  answer: AuthenticationResponseJSON,
  user?: UserRow,
): Promise<CheckedPasskey> {
  const { base } = services;
  const { store } = base;
  const { id: rpId, origin } = requireParty(services, visitor);
  const passkey = findPasskey(store, Buffer.from(answer.id, 'base64url'));
  if (!passkey || (user && passkey.user !== user.seq)) throw refuse('it is not known here');
  const heard = { endsAt: 0, challenge: '' };
  const verified = await verifying(() =>
    verifyAuthenticationResponse({
      response: answer,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedChallenge(challenge) {
        const ticket = Buffer.from(challenge, 'base64url');
        heard.challenge = challenge;
        heard.endsAt = readTicket(base, user ? forUser(user) : ANYBODY, CHALLENGE_MS, ticket) ?? 0;
        return heard.endsAt > 0;
      },
      requireUserVerification: user === undefined,
      // What it counts is checked below: the refusal leaves an event.
      credential: {
        id: answer.id,
        publicKey: new Uint8Array(passkey.public_key),
        counter: 0,
      },
    }),
  );
  if (!verified.verified) throw refuse('its signature is wrong');
  const { newCounter } = verified.authenticationInfo;
  return {
    passkey,
    use: (draft) => {
      const now = findPasskey(store, passkey.id);
      if (!now) throw refuse('it is not known here');
      if (isRegress(now.sign_count, newCounter)) throw new ClonedPasskey(passkey);
      if (!useProof(store, hashSecret(store, `passkey ${heard.challenge}`), heard.endsAt)) {
        throw refuse('this answer was used already');
      }
      setPasskeyUsed(store, now.seq, newCounter, draft.now);
    },
  };
}

/** Authenticators that count always count up; those that do not always say 0 (WebAuthn §6.1.1). */
function isRegress(known: number, next: number): boolean {
  return (known > 0 || next > 0) && next <= known;
}

/** Somebody else seems to have a copy of it. */
export class ClonedPasskey extends Error {
  constructor(readonly passkey: PasskeyRow) {
    super('the counter of a passkey went back');
  }
}

export function askForNewPasskey(
  services: SignInServices,
  visitor: Visitor,
  user: UserRow,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { base } = services;
  const { id: rpID } = requireParty(services, visitor);
  return generateRegistrationOptions({
    rpName: 'Zoneplane',
    rpID,
    timeout: CHALLENGE_MS,
    challenge: makeTicket(base, `new ${forUser(user)}`, CHALLENGE_MS) as Uint8Array<ArrayBuffer>,
    userID: new Uint8Array(user.id),
    userName: user.email,
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: passkeysOfUser(base.store, user.seq).map(described),
  });
}

export interface NewPasskey extends Pick<PasskeyRow, 'id' | 'public_key' | 'sign_count' | 'transports'> {
  /** Uses up the challenge, inside a write. */
  readonly use: UseCode;
}

/** Checks what an authenticator made. Throws 403. */
export async function checkNewPasskey(
  services: SignInServices,
  visitor: Visitor,
  user: UserRow,
  answer: RegistrationResponseJSON,
): Promise<NewPasskey> {
  const { base } = services;
  const { id: rpId, origin } = requireParty(services, visitor);
  const heard = { endsAt: 0, challenge: '' };
  const verified = await verifying(() =>
    verifyRegistrationResponse({
      response: answer,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedChallenge(challenge) {
        heard.challenge = challenge;
        const ticket = Buffer.from(challenge, 'base64url');
        heard.endsAt = readTicket(base, `new ${forUser(user)}`, CHALLENGE_MS, ticket) ?? 0;
        return heard.endsAt > 0;
      },
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (!verified.verified) throw refuse('its signature is wrong');
  const { credential } = verified.registrationInfo;
  return {
    id: Buffer.from(credential.id, 'base64url'),
    public_key: credential.publicKey,
    sign_count: credential.counter,
    transports: JSON.stringify(credential.transports ?? []),
    use: () => {
      if (!useProof(base.store, hashSecret(base.store, `passkey ${heard.challenge}`), heard.endsAt)) {
        throw refuse('this answer was used already');
      }
    },
  };
}

const refuse = (reason: string): Error => signInFailure('wrongPasskey', { reason });

/** What does not fit is thrown by the package, with the reason. */
async function verifying<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw refuse(messageOf(error).slice(0, 120));
  }
}
