/** Passkeys of this browser: what the server asks goes to the browser, and its answer comes back as plain values. */
import { ApiError, call } from './api.js';

/** Whether the browser has passkeys at all, and reads what servers ask in JSON. */
export const HAS_PASSKEYS = 'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

type Question = Record<string, unknown>;

interface Asking {
  readonly signal?: AbortSignal;
  /** Among the suggestions of a field, instead of a dialog. */
  readonly isQuiet?: boolean;
}

/** An answer with a passkey that the person chooses. Throws an {@link ApiError} when there is none. */
export async function answerWithPasskey(
  question: Question,
  { signal, isQuiet = false }: Asking = {},
): Promise<unknown> {
  return plain(async () => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(question as never);
    return navigator.credentials.get({
      publicKey,
      ...(signal && { signal }),
      ...(isQuiet && { mediation: 'conditional' as CredentialMediationRequirement }),
    });
  });
}

/** Makes a passkey. */
export async function makePasskey(): Promise<unknown> {
  const { result } = await call<Question>('POST', '/user/passkeys/options', { body: {} });
  return plain(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(result as never);
    return navigator.credentials.create({ publicKey });
  });
}

/** What the server asks at a sign-in; `challenge`: of one that waits for a second factor. */
export async function passkeyQuestion(challenge?: string): Promise<Question> {
  const body = challenge === undefined ? {} : { challenge };
  return (await call<Question>('POST', '/user/sign_in/passkey/options', { body })).result;
}

async function plain(ask: () => Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = await ask();
    if (credential) return (credential as PublicKeyCredential).toJSON();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
  }
  throw new ApiError(0, [{ code: 0, message: 'No passkey was used. Try again, or choose another way.' }]);
}
