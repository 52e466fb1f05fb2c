/** The configuration of stock name servers that makes them secondaries of this server. Pure. */
import { UserError } from '../../base/errors.js';

export const KINDS = ['knot', 'bind', 'nsd'] as const;
export type Kind = (typeof KINDS)[number];

export interface SecondaryConfiguration {
  /** Names without the final dot. */
  readonly zones: readonly string[];
  /** The catalog zone that lists them; undefined: each is named. */
  readonly catalog: string | undefined;
  /** Our address and port, as the secondary reaches them. */
  readonly address: string;
  readonly port: number;
  /** Signs everything; undefined: nothing is signed. */
  readonly key: { readonly name: string; readonly algorithm: string; readonly secret: string } | undefined;
  /** The name in our certificate, for transfers over TLS (RFC 9103); undefined: over TCP. */
  readonly tlsName: string | undefined;
  /** A file of certificates that the secondary trusts; undefined: those of its system. */
  readonly tlsAuthorities: string | undefined;
}

/** Throws a UserError for what the kind of server cannot do. */
export function printConfiguration(kind: Kind, configuration: SecondaryConfiguration): string {
  return PRINTERS[kind](configuration);
}

const PRINTERS: Readonly<Record<Kind, (configuration: SecondaryConfiguration) => string>> = {
  nsd: printNsd,
  knot: printKnot,
  bind: printBind,
};

const NAME = 'zoneplane';

function printNsd({ zones, catalog, address, port, key, tlsName, tlsAuthorities }: SecondaryConfiguration): string {
  const keyName = key ? withoutDot(key.name) : 'NOKEY';
  const tls = tlsName === undefined ? '' : ` ${NAME}-tls`;
  return joinParts(
    '# For nsd.conf; then: nsd-control reconfig (or restart nsd)',
    // Otherwise a change waits up to a second after the one before.
    'server:\n  xfrd-reload-timeout: 0',
    tlsAuthorities === undefined ? '' : `server:\n  tls-cert-bundle: "${tlsAuthorities}"`,
    key ? `key:\n  name: "${keyName}"\n  algorithm: ${key.algorithm}\n  secret: "${key.secret}"` : '',
    tlsName === undefined ? '' : `tls-auth:\n  name: "${NAME}-tls"\n  auth-domain-name: "${tlsName}"`,
    `pattern:\n  name: "${NAME}"\n  request-xfr: ${address}@${port} ${keyName}${tls}\n  allow-notify: ${address} ${keyName}`,
    catalog === undefined ? '' : NSD_WITHOUT_CATALOGS,
    ...zones.map((zone) => `zone:\n  name: "${zone}"\n  include-pattern: "${NAME}"`),
  );
}

function printKnot({ zones, catalog, address, port, key, tlsName }: SecondaryConfiguration): string {
  if (tlsName !== undefined) {
    throw new UserError('Knot before version 3.4 cannot transfer over TLS', 'Leave --tls-name out.');
  }
  const id = key && withoutDot(key.name);
  return joinParts(
    '# For knot.conf; then: knotc reload. Knot answers only where its server section says, such as\n# listen: [ 0.0.0.0@53, ::@53 ]',
    key ? `key:\n  - id: ${id}\n    algorithm: ${key.algorithm}\n    secret: ${key.secret}` : '',
    `remote:\n  - id: ${NAME}\n    address: ${address}@${port}${key ? `\n    key: ${id}` : ''}`,
    `acl:\n  - id: ${NAME}-notify\n    address: ${address}\n    action: notify${key ? `\n    key: ${id}` : ''}`,
    // With a zone file, each change would write the whole zone.
    `template:\n  - id: ${NAME}\n    master: ${NAME}\n    acl: ${NAME}-notify\n    journal-content: all\n    zonefile-load: none\n    zonefile-sync: -1`,
    catalog === undefined
      ? `zone:\n${zones.map((zone) => `  - domain: ${zone}\n    template: ${NAME}`).join('\n')}`
      : `zone:\n  - domain: ${catalog}\n    template: ${NAME}\n    catalog-role: interpret\n    catalog-template: ${NAME}`,
  );
}

function printBind({ zones, catalog, address, port, key, tlsName, tlsAuthorities }: SecondaryConfiguration): string {
  const name = key && withoutDot(key.name);
  const trusted = tlsAuthorities === undefined ? '' : ` ca-file "${tlsAuthorities}";`;
  const ofKey = key ? ` key "${name}"` : '';
  const tls = tlsName === undefined ? '' : ` tls ${NAME}-tls`;
  return joinParts(
    '# For named.conf; then: rndc reconfig. With "serial-query-rate 1000;" in its options, a change does not wait up to half\n' +
      '# a second after the one before.',
    catalog === undefined ? '' : `# Put this line into the options block: ${bindCatalog(catalog)}`,
    key ? `key "${name}" { algorithm ${key.algorithm}; secret "${key.secret}"; };` : '',
    tlsName === undefined ? '' : `tls ${NAME}-tls { remote-hostname "${tlsName}";${trusted} };`,
    `primaries ${NAME} { ${address} port ${port}${ofKey}${tls}; };`,
    ...(catalog === undefined ? zones : [catalog]).map(
      (zone) =>
        `zone "${zone}" { type secondary; file "${zone.replaceAll('/', '%2f')}.db"; primaries { ${NAME}; }; allow-notify {${key ? ofKey : ` ${address}`}; }; };`,
    ),
  );
}

const NSD_WITHOUT_CATALOGS = `# NSD before 4.9 does not support catalog zones: these are the zones of today. For each new one: nsd-control addzone <name> ${NAME}`;

/** Without `in-memory`: after a restart BIND would answer none of the zones until it reaches us. */
function bindCatalog(catalog: string): string {
  return `catalog-zones { zone "${catalog}" default-primaries { ${NAME}; }; };`;
}

const withoutDot = (name: string): string => name.replace(/\.$/, '');

function joinParts(...parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}
