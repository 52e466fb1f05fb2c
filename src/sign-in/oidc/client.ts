/** Talks to an identity provider: its description, the code for a statement, and the keys with which it signs. */
import { createRemoteJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify, customFetch as keyFetch } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
} from 'openid-client';
import { toHex } from '../../base/bytes.js';
import { steadyMs } from '../../base/clock.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { ProviderRow } from '../../store/access/oidc.js';
import { OIDC_SECRETS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import { ALGORITHMS } from './claims.js';
import { createProviderFetch } from './fetch.js';

/** What was made at the beginning and is needed at the end. */
export interface Handshake {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface ProviderClient {
  /** Where the browser goes. */
  authorizationUrl(redirect: string, scopes: string, handshake: Handshake): Promise<URL>;
  /** The claims of the statement that the code stands for, and the algorithm of its signature, which was checked. */
  exchange(
    current: URL,
    handshake: Handshake,
  ): Promise<{ readonly claims: JWTPayload; readonly algorithm: string | undefined }>;
  /** The claims of a signed statement that the provider sent by itself. */
  verify(statement: string): Promise<JWTPayload>;
  readonly endpoints: Readonly<Record<string, unknown>>;
}

export interface ClientParts {
  readonly base: ContextBase;
  readonly vault: Pick<Vault, 'open'>;
  readonly resolver: Resolver;
}

/** The package's error code for a statement outside its time of validity. */
export const JWT_TIMESTAMP_CHECK = 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';

const KEPT_MS = 3_600_000;
const SKEW_SECONDS = 300;
const LIMIT_SECONDS = 10;

interface Kept {
  readonly key: string;
  readonly untilMs: number;
  readonly client: Promise<ProviderClient>;
}

export type ProviderClients = (provider: ProviderRow) => Promise<ProviderClient>;

/** Descriptions and keys are kept for an hour; an unknown key is looked for at most once a minute. */
export function createProviderClients(services: ClientParts): ProviderClients {
  const kept = new Map<string, Kept>();
  const { clock } = services.base;
  return (provider) => {
    const id = toHex(provider.id);
    const key = String(provider.modified_at);
    const known = kept.get(id);
    if (known?.key === key && known.untilMs > steadyMs(clock)) return known.client;
    const client = connect(services, provider);
    kept.set(id, { key, untilMs: steadyMs(clock) + KEPT_MS, client });
    // One that could not be asked is asked again by the next.
    client.catch(() => kept.delete(id));
    return client;
  };
}

async function connect(services: ClientParts, provider: ProviderRow): Promise<ProviderClient> {
  const { base, vault, resolver } = services;
  const fetcher = createProviderFetch(base.egress, resolver);
  const issuer = new URL(provider.issuer);
  const secret =
    provider.client_secret && Buffer.from(vault.open(OIDC_SECRETS, provider.id, provider.client_secret)).toString();
  const config = await discovery(
    issuer,
    provider.client_id,
    { [clockTolerance]: SKEW_SECONDS, ...(secret && { client_secret: secret }) },
    secret ? undefined : None(),
    {
      [customFetch]: fetcher as never,
      timeout: LIMIT_SECONDS,
      execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
    },
  );
  // The signature is checked although the statement comes from the provider itself.
  enableNonRepudiationChecks(config);
  return clientOf(config, provider, fetcher, () => new Date(base.clock.nowMs()));
}

function clientOf(
  config: Configuration,
  provider: ProviderRow,
  fetcher: ReturnType<typeof createProviderFetch>,
  now: () => Date,
): ProviderClient {
  const metadata = config.serverMetadata();
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
    [keyFetch]: fetcher as never,
    cooldownDuration: 60_000,
    timeoutDuration: LIMIT_SECONDS * 1000,
  });
  return {
    endpoints: { ...metadata },
    async authorizationUrl(redirect, scopes, { state, nonce, verifier }) {
      return buildAuthorizationUrl(config, {
        ...{ redirect_uri: redirect, scope: scopes, state, nonce, response_type: 'code' },
        ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      });
    },
    async exchange(current, { state, nonce, verifier }) {
      const answer = await authorizationCodeGrant(config, current, {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      });
      const claims = answer.claims()!;
      // Many providers tell the address only to whoever asks for it with the token (OpenID Connect Core §5.4).
      const told =
        claims['email'] === undefined && metadata.userinfo_endpoint !== undefined
          ? await fetchUserInfo(config, answer.access_token, claims.sub)
          : undefined;
      // The address and its `email_verified` must come from the same source.
      const address = told && { email: told.email, email_verified: told.email_verified };
      return { claims: { ...told, ...claims, ...address }, algorithm: decodeProtectedHeader(answer.id_token!).alg };
    },
    async verify(statement) {
      const options = { issuer: provider.issuer, audience: provider.client_id, algorithms: ALGORITHMS };
      return (await jwtVerify(statement, keys, { ...options, clockTolerance: SKEW_SECONDS, currentDate: now() }))
        .payload;
    },
  };
}
