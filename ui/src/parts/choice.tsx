// One of several words, for filters and settings.

interface ChoiceProps {
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChoice: (value: string) => void;
}

export function Choice({ name, value, options, onChoice }: ChoiceProps) {
  return (
    <label class="choice">
      <span>{name}</span>
      <select value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
        {options.map(([key, words]) => (
          <option key={key} value={key} selected={key === value}>{words}</option>
        ))}
      </select>
    </label>
  );
}

interface SearchProps {
  readonly name: string;
  readonly value: string;
  readonly onSearch: (value: string) => void;
}

/** A field whose text filters what is shown. */
export function Search({ name, value, onSearch }: SearchProps) {
  return (
    <label class="choice search">
      <span>{name}</span>
      <input
        type="search"
        value={value}
        spellcheck={false}
        autocomplete="off"
        maxLength={200}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
    </label>
  );
}
