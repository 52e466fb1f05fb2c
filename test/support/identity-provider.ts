/** An identity provider that says what a test tells it to say, and signs it as the test wants. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export interface Statement {
  /** Replace what an honest provider would say; undefined members are left out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly algorithm?: string;
  /** Signs with a key that the provider does not show. */
  readonly foreignKey?: boolean;
  /** Of the key, instead of the one that the provider shows. */
  readonly kid?: string;
  /** What it says of the person beside the statement. */
  readonly userinfo?: object;
  /** Instead of an answer, the way to another place. */
  readonly leadsAway?: boolean;
  /** Instead of a signed statement. */
  readonly raw?: string;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** What the next code stands for. */
  say(nonce: string, statement: Statement): void;
  /** Signs something by itself, such as a logout. */
  sign(claims: JWTPayload): Promise<string>;
  /** Requests by path. */
  readonly asked: Map<string, number>;
  /** Replaces the description of itself. */
  describe(changes: Readonly<Record<string, unknown>>): void;
  /** Takes another key, as providers do. */
  roll(): Promise<void>;
  close(): Promise<void>;
}

export const CLIENT = 'zoneplane';

export async function startIdentityProvider(nowMs: () => number): Promise<IdentityProvider> {
  const asked = new Map<string, number>();
  let kid = 1;
  let key = await generateKeyPair('RS256', { extractable: true });
  let description: Record<string, unknown> = {};
  let next: { nonce: string; statement: Statement } | undefined;

  const signed = async (
    claims: JWTPayload,
    { algorithm = 'RS256', foreignKey = false, kid: named = String(kid) }: Statement,
  ): Promise<string> => {
    const { privateKey } = foreignKey ? await generateKeyPair('RS256') : key;
    const text = new TextEncoder().encode('a secret of thirty-two octets ...');
    const by: CryptoKey | Uint8Array = algorithm.startsWith('HS') ? text : privateKey;
    return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid: named }).sign(by);
  };
  const honest = (nonce: string): JWTPayload => ({
    ...{ iss: issuer(), sub: 'ada-at-provider', aud: CLIENT, nonce, sid: 'session-1' },
    ...{ iat: Math.floor(nowMs() / 1000), exp: Math.floor(Date.now() / 1000) + 300 },
    ...{ email: 'ada@provider.example', email_verified: true },
  });
  const answer = async (path: string): Promise<unknown> => {
    if (path === '/.well-known/openid-configuration') {
      const endpoint = (name: string): string => `${issuer()}/${name}`;
      return {
        ...{ issuer: issuer(), authorization_endpoint: endpoint('authorize'), token_endpoint: endpoint('token') },
        ...{ jwks_uri: endpoint('keys'), response_types_supported: ['code'], subject_types_supported: ['public'] },
        ...{ id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] },
        ...description,
      };
    }
    if (path === '/keys')
      return { keys: [{ ...(await exportJWK(key.publicKey)), kid: String(kid), alg: 'RS256', use: 'sig' }] };
    if (path === '/userinfo') return next!.statement.userinfo;
    const { nonce, statement } = next!;
    const claims = Object.fromEntries(
      Object.entries({ ...honest(nonce), ...statement.claims }).filter(([, value]) => value !== undefined),
    );
    const token = statement.raw ?? (await signed(claims, statement));
    return { access_token: 'access-token-of-ada', token_type: 'Bearer', id_token: token };
  };
  const server: Server = createServer((request, response) => {
    const path = request.url!.split('?')[0]!;
    asked.set(path, (asked.get(path) ?? 0) + 1);
    request.resume().on('end', () => {
      if (path === '/token' && next?.statement.leadsAway) {
        response.writeHead(307, { location: `${issuer()}/token` }).end();
        return;
      }
      void answer(path).then((body) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer: issuer(),
    asked,
    say(nonce, statement) {
      next = { nonce, statement };
    },
    sign: (claims) => signed(claims, {}),
    describe(changes) {
      description = changes;
    },
    async roll() {
      kid++;
      key = await generateKeyPair('RS256', { extractable: true });
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
