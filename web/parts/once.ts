/**
 * A value that is made when it is first wanted: the browser takes milliseconds for each of its formats for dates and numbers.
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
