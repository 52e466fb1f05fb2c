/** `/record_types` (ours): the types that can be created, and the members of their values, for forms. */
import { isProxiableType } from '../../control/rules/proxiable.js';
import { TYPES } from '../../dns/rr/registry.js';
import type { DataMember, RRType } from '../../dns/rr/type.js';
import { success } from '../envelope.js';
import type { AddRoutes } from '../routing/route.js';
import { GUIDE, type MemberGuide } from './guide.js';
import { type RecordType, type RecordTypeMember, recordType } from './schema.js';

export const recordTypeRoutes: AddRoutes = (app) => {
  app.open.get(
    '/record_types',
    {
      area: 'any',
      tags: ['DNS records'],
      summary: 'List the record types that can be created, and their members',
      list: recordType,
    },
    async () => success(RECORD_TYPES),
  );
};

type Shape = Pick<RecordTypeMember, 'place' | 'kind' | 'required' | 'minimum' | 'maximum' | 'values'>;

const CONTENT: Shape = { place: 'content', kind: 'string', required: true };
const PRIORITY: Shape = { place: 'priority', kind: 'integer', required: true, minimum: 0, maximum: 0xffff };

/** In the order of the guide: the most frequent first. */
const RECORD_TYPES: RecordType[] = Object.keys(GUIDE).flatMap((mnemonic) =>
  TYPES.filter((type) => type.creatable && type.mnemonic === mnemonic).map(describe),
);

function describe({ mnemonic, code, rfc, data }: RRType): RecordType {
  const { about, members } = GUIDE[mnemonic]!;
  return {
    type: mnemonic,
    rfc,
    about,
    proxiable: isProxiableType(code),
    members: Object.entries(members).map(([name, guide]) =>
      describeMember(
        name,
        guide,
        data.find((member) => member.name === name),
      ),
    ),
  };
}

/** Of `data`, or what stands beside it. */
function describeMember(name: string, guide: MemberGuide, member: DataMember | undefined): RecordTypeMember {
  const { choices, ...texts } = guide;
  return {
    name,
    ...texts,
    ...(choices && { choices: choices.map(([value, meaning]) => ({ value, meaning })) }),
    ...(member ? shapeOf(member) : name === 'priority' ? PRIORITY : CONTENT),
  };
}

function shapeOf({ type, required, minimum, maximum, values }: DataMember): Shape {
  return {
    place: 'data',
    kind: type,
    required,
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(values && { values: [...values] }),
  };
}
