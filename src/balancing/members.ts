/** Reads members of what owners of monitors, pools and load balancers wrote, which was checked before it was stored. */

/** A JSON object as it was stored. */
export type Members = Readonly<Record<string, unknown>>;

export function parseMembers(settings: string): Members {
  return JSON.parse(settings) as Members;
}

/** A member that is absent or null has its default. */
export function memberOr<Value>(members: Members, name: string, fallback: Value): Value {
  return (members[name] ?? fallback) as Value;
}

/** A text of which the empty one means the default. */
export function textOr<Value extends string>(members: Members, name: string, fallback: Value): Value {
  return (members[name] || fallback) as Value;
}

/** The members of a member; none when it is absent. */
export function membersOf(members: Members, name: string): Members {
  return memberOr<Members>(members, name, {});
}
