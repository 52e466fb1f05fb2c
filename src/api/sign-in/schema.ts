/** Shapes of signing in (ours). */
import { z } from 'zod';
import { time } from '../schema.js';
import { session } from '../sessions/schema.js';

const email = z.string().min(3).max(260).describe('Compared without regard to case');
const password = z.string().min(1).max(1024);

export const ways = z
  .object({
    passwords: z.boolean().describe('Whether passwords are accepted'),
    passkeys: z.boolean().describe('Whether browsers have passkeys at the address of this request'),
    providers: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .describe('Identity providers: `/user/sign_in/oidc/{id}` leads there'),
    mail: z.boolean().describe('Whether links for new passwords are sent by mail'),
  })
  .meta({ id: 'SignInWays' });

export type Ways = z.output<typeof ways>;

export const signIn = z
  .strictObject({ email, password })
  .meta({ id: 'SignIn', examples: [{ email: 'ada@example.com', password: 'correct horse battery staple' }] });

const method = z.enum(['password', 'totp', 'passkey', 'recovery']);

export const signedIn = z
  .union([
    z.object({ session }),
    z.object({
      challenge: z.string().describe('Name of the sign-in, which waits for a second factor: 5 minutes, 5 attempts'),
      methods: z.array(method),
    }),
  ])
  .meta({ id: 'SignedIn', description: 'The session, whose cookie is set, or what is missing.' });

export type SignedIn = z.output<typeof signedIn>;

export const withSession = z.object({ session }).meta({ id: 'OwnSession' });

export const linkBody = z.strictObject({ link: z.string().min(1).max(200) }).meta({ id: 'SignInLink' });

export const passwordChange = z
  .strictObject({
    current: password.optional().describe('Needed if there is one'),
    new: password.describe('8 to 256 characters, and none of the most common ones'),
  })
  .meta({ id: 'PasswordChange' });

export const resetRequest = z.strictObject({ email }).meta({ id: 'PasswordResetRequest' });

export const nothing = z.object({});

export const resetAnswer = z.object({ email: z.string().describe('Whose password it is') });

export const resetParams = z.object({ code: z.string().describe('Secret of the link') });

export const resetBody = z.strictObject({ new: password }).meta({ id: 'PasswordReset' });

const encoded = z.string().max(10_000);

/** What a browser's authenticator answers (WebAuthn level 3, §5.1): checked by its own rules. */
const assertion = z
  .object({
    id: encoded,
    rawId: encoded,
    type: z.literal('public-key'),
    response: z.object({
      clientDataJSON: encoded,
      authenticatorData: encoded,
      signature: encoded,
      userHandle: encoded.nullish(),
    }),
  })
  .meta({ id: 'PasskeyAssertion' });

const attestation = z
  .object({
    id: encoded,
    rawId: encoded,
    type: z.literal('public-key'),
    response: z.object({
      clientDataJSON: encoded,
      attestationObject: encoded,
      transports: z.array(z.string().max(40)).max(10).optional(),
    }),
  })
  .meta({ id: 'PasskeyAttestation' });

const code = z.string().min(1).max(40);

export const factorBody = z
  .strictObject({
    password: password.optional(),
    totp: code.optional().describe('Six digits'),
    recovery: code.optional(),
    passkey: assertion.optional(),
  })
  .meta({ id: 'Factor', description: 'Exactly one of these.' });

export type FactorBody = z.output<typeof factorBody>;

export const challengeParams = z.object({ challenge: z.string().describe('As the sign-in answered') });

export const passkeySignIn = z.strictObject({ passkey: assertion }).meta({ id: 'PasskeySignIn' });

export const passkeyOptionsBody = z
  .strictObject({ challenge: z.string().max(200).optional().describe('Of a sign-in that waits for a second factor') })
  .meta({ id: 'PasskeyOptionsRequest' });

/** For `navigator.credentials` (WebAuthn level 3, §5.1.8 and §5.1.9). */
export const passkeyOptions = z.looseObject({ challenge: z.string() }).meta({ id: 'PasskeyOptions' });

export const totpSecret = z
  .object({ secret: z.string().describe('In base 32'), uri: z.string().describe('`otpauth:`, for a QR code') })
  .meta({ id: 'TotpSecret' });

export const totpBody = z.strictObject({ totp: code }).meta({ id: 'TotpCode' });

export const passkeyParams = z.object({ passkey_id: z.string() });

export const passkey = z
  .object({ id: z.string(), name: z.string(), created_on: time, last_used_on: time.nullable() })
  .meta({ id: 'Passkey' });

export type Passkey = z.output<typeof passkey>;

export const newPasskey = z
  .strictObject({ name: z.string().max(200), passkey: attestation })
  .meta({ id: 'NewPasskey' });

export const passkeyEdit = z.strictObject({ name: z.string().max(200) }).meta({ id: 'PasskeyEdit' });

export const recoveryCodes = z.object({ codes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' });

export const factors = z
  .object({
    password: z.boolean(),
    totp: z.boolean(),
    passkeys: z.array(passkey),
    recovery_codes: z.int().describe('How many are left'),
  })
  .meta({ id: 'Factors' });

export type Factors = z.output<typeof factors>;
