/** Shapes of signing in (ours). */
import { z } from 'zod';
import { session } from '../sessions/schema.js';

const email = z.string().min(3).max(260).describe('Compared without regard to case');
const password = z.string().min(1).max(1024);

export const ways = z
  .object({
    passwords: z.boolean().describe('Whether passwords are accepted'),
    mail: z.boolean().describe('Whether links for new passwords are sent by mail'),
  })
  .meta({ id: 'SignInWays' });

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

export const confirmBody = z.strictObject({ password: password.optional() }).meta({ id: 'Confirmation' });
