/** What the creatable record types are for and what their members mean, in words for people who fill in a form. */

export interface MemberGuide {
  readonly label: string;
  readonly hint?: string;
  readonly unit?: string;
  readonly example?: string;
  /** What a new record has unless another value is chosen. */
  readonly usual?: string;
  /** Usual values of a number or a text, and what they mean; others may be allowed. */
  readonly choices?: readonly (readonly [value: string, meaning: string])[];
}

export interface TypeGuide {
  readonly about: string;
  /** In the order of the form: `content`, `priority` beside it, or the members of `data`. */
  readonly members: Readonly<Record<string, MemberGuide>>;
}

const SMALLER_FIRST = 'The smallest number is tried first.';
const ALGORITHM: MemberGuide = {
  label: 'Algorithm',
  choices: [
    ['8', 'RSA with SHA-256'],
    ['13', 'ECDSA P-256 with SHA-256'],
    ['14', 'ECDSA P-384 with SHA-384'],
    ['15', 'Ed25519'],
    ['16', 'Ed448'],
  ],
};
/** Clients of v4 send targets in full: a single label is not completed with the zone. */
const IN_FULL = 'The whole name, with its domain.';

const host = (label: string, hint?: string, example = 'host.example.net'): MemberGuide => ({
  label,
  hint: hint === undefined ? IN_FULL : `${IN_FULL} ${hint}`,
  example,
});

const ASSOCIATION: Readonly<Record<string, MemberGuide>> = {
  usage: {
    label: 'Usage',
    choices: [
      ['0', 'the issuing authority, checked as usual'],
      ['1', 'this certificate, checked as usual'],
      ['2', 'a trust anchor of your own'],
      ['3', 'this certificate alone'],
    ],
  },
  selector: {
    label: 'Selector',
    choices: [
      ['0', 'the whole certificate'],
      ['1', 'its public key'],
    ],
  },
  matching_type: {
    label: 'Matching',
    choices: [
      ['0', 'the data itself'],
      ['1', 'SHA-256'],
      ['2', 'SHA-512'],
    ],
  },
  certificate: { label: 'Certificate data', hint: 'Hexadecimal.' },
};

const BINDING: Readonly<Record<string, MemberGuide>> = {
  priority: {
    label: 'Priority',
    usual: '1',
    hint: '0 makes the name an alias of the target; otherwise the smallest is preferred.',
  },
  target: { ...host('Target', 'A dot stands for the name itself.', '.'), usual: '.' },
  value: { label: 'Parameters', example: 'alpn="h3,h2" port=443', hint: 'Empty for an alias.' },
};

export const GUIDE: Readonly<Record<string, TypeGuide>> = {
  A: {
    about: 'The IPv4 address of a name.',
    members: { content: { label: 'IPv4 address', example: '192.0.2.1' } },
  },
  AAAA: {
    about: 'The IPv6 address of a name.',
    members: { content: { label: 'IPv6 address', example: '2001:db8::1' } },
  },
  CNAME: {
    about: 'The name is an alias: resolvers go on with the target. At the apex it is flattened to addresses.',
    members: { content: host('Target', undefined, 'www.example.net') },
  },
  MX: {
    about: 'Where mail for the name is delivered.',
    members: {
      priority: { label: 'Preference', hint: SMALLER_FIRST, example: '10', usual: '10' },
      content: host(
        'Mail server',
        'A name with addresses, not an alias. A dot says that there is no mail.',
        'mail.example.net',
      ),
    },
  },
  TXT: {
    about: 'Text for other services: SPF, DKIM, proofs of ownership.',
    members: {
      content: { label: 'Text', example: 'v=spf1 mx -all', hint: 'At most 4,096 bytes; longer than 255 is divided.' },
    },
  },
  NS: {
    about: 'Delegates a name and everything below it to another name server.',
    members: { content: host('Name server', undefined, 'ns1.example.net') },
  },
  SRV: {
    about: 'Where a service runs. The name begins with _service._protocol.',
    members: {
      priority: { label: 'Priority', hint: SMALLER_FIRST, example: '10' },
      weight: { label: 'Weight', hint: 'Share of the clients among targets of equal priority.', example: '5' },
      port: { label: 'Port', example: '443' },
      target: host('Target', 'A dot says that the service is not offered.'),
    },
  },
  CAA: {
    about: 'Which authorities may issue certificates for the name.',
    members: {
      flags: {
        label: 'Flags',
        usual: '0',
        choices: [
          ['0', 'usual'],
          ['128', 'authorities that do not know the property must refuse'],
        ],
      },
      tag: {
        label: 'Property',
        usual: 'issue',
        choices: [
          ['issue', 'may issue certificates'],
          ['issuewild', 'may issue wildcard certificates'],
          ['iodef', 'where violations are reported'],
        ],
      },
      value: { label: 'Value', example: 'letsencrypt.org', hint: 'A single semicolon forbids all.' },
    },
  },
  PTR: { about: 'The name that belongs to an address, in reverse zones.', members: { content: host('Host name') } },
  HTTPS: { about: 'How browsers reach a website: protocols, port, addresses.', members: BINDING },
  SVCB: { about: 'How clients reach a service: protocols, port, addresses.', members: BINDING },
  URI: {
    about: 'The address of a service as a URI.',
    members: {
      priority: { label: 'Priority', hint: SMALLER_FIRST, example: '10' },
      weight: { label: 'Weight', hint: 'Share of the clients among targets of equal priority.', example: '1' },
      target: { label: 'URI', example: 'https://www.example.net/' },
    },
  },
  NAPTR: {
    about: 'Rewrites a name into another or into a URI (telephony, SIP).',
    members: {
      order: { label: 'Order', hint: SMALLER_FIRST, example: '100' },
      preference: {
        label: 'Preference',
        hint: 'Among those of equal order, the smallest is preferred.',
        example: '10',
      },
      flags: { label: 'Flags', example: 'u' },
      service: { label: 'Service', example: 'E2U+sip' },
      regex: { label: 'Substitution', example: '!^.*$!sip:info@example.net!' },
      replacement: host('Replacement', 'A dot when there is a substitution.', '.'),
    },
  },
  DS: {
    about: 'The key of a signed zone below this one, for the delegation of that name.',
    members: {
      key_tag: { label: 'Key tag', example: '12345' },
      algorithm: ALGORITHM,
      digest_type: {
        label: 'Digest type',
        choices: [
          ['2', 'SHA-256'],
          ['4', 'SHA-384'],
        ],
      },
      digest: { label: 'Digest', hint: 'Hexadecimal.' },
    },
  },
  DNSKEY: {
    about: 'A public key of a signed zone. Zones that this server signs get theirs by themselves.',
    members: {
      flags: {
        label: 'Flags',
        choices: [
          ['256', 'signs the zone'],
          ['257', 'signs the keys; the parent knows it'],
        ],
      },
      protocol: { label: 'Protocol', usual: '3', choices: [['3', 'always']] },
      algorithm: ALGORITHM,
      public_key: { label: 'Public key', hint: 'Base64.' },
    },
  },
  TLSA: {
    about: 'The certificate that a TLS service has. The name begins with _port._protocol.',
    members: ASSOCIATION,
  },
  SMIMEA: { about: 'The certificate of a mail address for S/MIME.', members: ASSOCIATION },
  SSHFP: {
    about: 'The fingerprint of a host key for SSH.',
    members: {
      algorithm: {
        label: 'Algorithm',
        choices: [
          ['1', 'RSA'],
          ['3', 'ECDSA'],
          ['4', 'Ed25519'],
        ],
      },
      type: {
        label: 'Fingerprint type',
        choices: [
          ['1', 'SHA-1'],
          ['2', 'SHA-256'],
        ],
      },
      fingerprint: { label: 'Fingerprint', hint: 'Hexadecimal.' },
    },
  },
  CERT: {
    about: 'A certificate, or where one is.',
    members: {
      type: {
        label: 'Certificate type',
        choices: [
          ['1', 'X.509'],
          ['3', 'OpenPGP'],
        ],
      },
      key_tag: { label: 'Key tag', example: '0', usual: '0' },
      algorithm: ALGORITHM,
      certificate: { label: 'Certificate', hint: 'Base64.' },
    },
  },
  OPENPGPKEY: {
    about: 'The OpenPGP key of a mail address.',
    members: { content: { label: 'Key', hint: 'Base64.' } },
  },
  LOC: {
    about: 'A place on Earth.',
    members: {
      lat_degrees: { label: 'Latitude', unit: '°', example: '52' },
      lat_minutes: { label: 'Minutes', unit: '′' },
      lat_seconds: { label: 'Seconds', unit: '″' },
      lat_direction: { label: 'Hemisphere', hint: 'North or south.' },
      long_degrees: { label: 'Longitude', unit: '°', example: '13' },
      long_minutes: { label: 'Minutes', unit: '′' },
      long_seconds: { label: 'Seconds', unit: '″' },
      long_direction: { label: 'Direction', hint: 'East or west.' },
      altitude: { label: 'Altitude', unit: 'm' },
      size: { label: 'Size', unit: 'm' },
      precision_horz: { label: 'Horizontal precision', unit: 'm' },
      precision_vert: { label: 'Vertical precision', unit: 'm' },
    },
  },
};
