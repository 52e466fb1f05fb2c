/**
 * Signed requests of one account: nonces (RFC 8555 §6.5), and the account itself, which is created when first needed
 * (§7.3).
 */
import type { Clock } from '../../base/clock.js';
import { AuthorityError } from '../authority.js';
import type { Directory } from './directory.js';
import { type AccountKey, bindExternalAccount } from './jws.js';
import { refusal, unexpectedAnswer } from './problem.js';
import { type Answer, isSecureUrl, type Transport } from './transport.js';

/** The largest number of attempts when the authority rejects nonces. */
const MAX_ATTEMPTS = 10;
const MAX_NONCES = 16;
const NONCE = /^[A-Za-z0-9_-]{1,512}$/;

export interface AccountOptions {
  readonly key: AccountKey;
  /** URIs, such as `mailto:admin@example.com`. */
  readonly contact: readonly string[];
  readonly termsAgreed: boolean;
  readonly externalAccount?: { readonly keyId: string; readonly hmacKey: Uint8Array };
}

export interface Session {
  /** The URL of the account. Throws an {@link AuthorityError}. */
  account(): Promise<string>;
  /**
   * Sends a signed request and returns a successful answer. Without `payload` it only reads (POST-as-GET). Throws an
   * {@link AuthorityError}.
   */
  post(url: string, payload?: object, accept?: string): Promise<Answer>;
}

export function createSession(
  transport: Transport,
  directory: () => Promise<Directory>,
  account: AccountOptions,
  clock: Clock,
): Session {
  const nonces: string[] = [];
  let finding: Promise<string> | undefined;

  const freshNonce = async (): Promise<string> => {
    const { newNonce } = await directory();
    const answer = await transport.send({ method: 'HEAD', url: newNonce, accept: '*/*' });
    const nonce = nonceOf(answer);
    if (nonce === undefined) throw unexpectedAnswer(answer, clock.nowMs(), 'a nonce was expected');
    return nonce;
  };

  const keep = (nonce: string | undefined): void => {
    if (nonce !== undefined && nonces.length < MAX_NONCES) nonces.push(nonce);
  };

  /** `by` identifies the signer: the key itself until the account has a URL. */
  const send = async (by: { jwk: object } | { kid: string }, url: string, payload: unknown, accept: string) => {
    let nonce = nonces.pop() ?? (await freshNonce());
    for (let attempt = 1; ; attempt++) {
      const body = JSON.stringify(account.key.sign({ nonce, url, ...by }, payload));
      const answer = await transport.send({ method: 'POST', url, accept, body });
      const next = nonceOf(answer);
      const error = answer.status >= 300 ? refusal(answer, clock.nowMs()) : undefined;
      if (error?.problem.type !== 'badNonce' || attempt === MAX_ATTEMPTS) {
        keep(next);
        if (error) throw error;
        return answer;
      }
      // A rejected nonce is too old, or from before a restart of the authority; so are the others.
      nonces.length = 0;
      nonce = next ?? (await freshNonce());
    }
  };

  const register = async (payload: object): Promise<string> => {
    const { newAccount } = await directory();
    const answer = await send({ jwk: account.key.jwk }, newAccount, payload, 'application/json');
    const location = answer.header('location');
    if (location && isSecureUrl(location)) return location;
    throw unexpectedAnswer(answer, clock.nowMs(), 'the URL of the account was expected');
  };

  /** Looks for an existing account first, because an external account's key may allow only one binding. */
  const findAccount = async (): Promise<string> => {
    try {
      return await register({ onlyReturnExisting: true });
    } catch (error) {
      if (!isProblem(error, 'accountDoesNotExist')) throw error;
    }
    return register(newAccountOf(account, await directory()));
  };

  const accountUrl = (): Promise<string> => {
    finding ??= findAccount().catch((error: unknown) => {
      finding = undefined;
      throw error;
    });
    return finding;
  };

  return {
    account: accountUrl,
    async post(url, payload, accept = 'application/json') {
      const kid = await accountUrl();
      try {
        return await send({ kid }, url, payload, accept);
      } catch (error) {
        if (isProblem(error, 'accountDoesNotExist')) finding = undefined;
        throw error;
      }
    },
  };
}

function newAccountOf({ key, contact, termsAgreed, externalAccount }: AccountOptions, directory: Directory): object {
  const terms = directory.meta.termsOfService;
  if (terms !== undefined && !termsAgreed) {
    const detail = `The terms of service of the certificate authority must be agreed to first: ${terms}`;
    throw new AuthorityError({ type: 'userActionRequired', detail, status: 0, subproblems: [] });
  }
  return {
    termsOfServiceAgreed: termsAgreed,
    ...(contact.length > 0 && { contact }),
    ...(externalAccount && {
      externalAccountBinding: bindExternalAccount(
        externalAccount.keyId,
        externalAccount.hmacKey,
        directory.newAccount,
        key.jwk,
      ),
    }),
  };
}

function nonceOf(answer: Answer): string | undefined {
  const nonce = answer.header('replay-nonce');
  return nonce !== undefined && NONCE.test(nonce) ? nonce : undefined;
}

export function isProblem(error: unknown, type: string): error is AuthorityError {
  return error instanceof AuthorityError && error.problem.type === type;
}
