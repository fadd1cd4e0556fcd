//! JSON: all results, for scripts, with their schema's name and version.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};

/// What a command prints as JSON.
///
/// The version rises when a key goes, or when its meaning or type changes. New keys may come in any
/// version of Roundelay.
pub trait Printed: Serialize + JsonSchema {
    /// The schema's name and version, as in `compare/1`. It is the first key of what is printed.
    const SCHEMA: &'static str;
}

/// Results with their schema's name in front.
#[derive(Serialize)]
struct Named<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    results: &'a T,
}

const PLAIN: &str = "plain data with string keys always serialises";

/// Results as indented JSON with a newline at the end. Times are in seconds, rates in bits per
/// second, sizes in bytes, unless a name ends in a unit. Unknown values are null.
pub fn json<T: Printed>(results: &T) -> String {
    let schema = T::SCHEMA;
    serde_json::to_string_pretty(&Named { schema, results }).expect(PLAIN) + "\n"
}

/// Results as one line of JSON, newline included.
pub fn json_line<T: Printed>(results: &T) -> String {
    let schema = T::SCHEMA;
    serde_json::to_string(&Named { schema, results }).expect(PLAIN) + "\n"
}

/// The JSON Schema of what [`json()`] prints, as text.
pub fn schema<T: Printed>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut all = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    all["$id"] = format!("urn:roundelay:{}", T::SCHEMA.replace('/', ":")).into();
    all["title"] = T::SCHEMA.into();
    // Where lines are of several kinds, the alternatives have the keys.
    name(&mut all, T::SCHEMA);
    serde_json::to_string_pretty(&all).expect(PLAIN) + "\n"
}

/// Adds the key with the schema's name to an object.
fn name(object: &mut Value, name: &str) {
    let key = json!({
        "description": "Name and version of the schema of this output.",
        "const": name,
    });
    object["type"] = "object".into();
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("schema".to_owned(), key);
    } else {
        object["properties"] = json!({ "schema": key });
    }
    match object.get_mut("required").and_then(Value::as_array_mut) {
        Some(required) => required.insert(0, "schema".into()),
        None => object["required"] = json!(["schema"]),
    }
}
