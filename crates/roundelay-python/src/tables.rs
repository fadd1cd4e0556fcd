//! Tables as Arrow: the columns of the Parquet files, through the PyCapsule interface.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array, make_array,
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use roundelay_report as report;
use roundelay_report::Cells;

/// The capsule's name in Arrow's PyCapsule interface.
const STREAM: &CStr = c"arrow_array_stream";

/// A table with named columns.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(table: &report::Table, metadata: &[(String, String)]) -> PyResult<Self> {
        let fields: Vec<_> = table.header.iter().map(field).collect();
        let metadata: HashMap<_, _> = metadata.iter().cloned().collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let mut batches = Vec::new();
        for columns in &table.batches {
            let arrays = columns.iter().map(array).collect();
            batches.push(RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?);
        }
        Ok(Self { schema, batches })
    }
}

/// A value in a column that comes from Python.
#[derive(FromPyObject)]
pub(crate) enum Cell {
    Whole(i64),
    Number(f64),
    Text(String),
}

/// An array of whole numbers, of numbers or of texts, depending on the values.
fn array_of(cells: &[Option<Cell>]) -> ArrayRef {
    let mut has_whole = false;
    let mut has_number = false;
    let mut has_text = false;
    for cell in cells.iter().flatten() {
        match cell {
            Cell::Whole(_) => has_whole = true,
            Cell::Number(_) => has_number = true,
            Cell::Text(_) => has_text = true,
        }
    }
    if has_text {
        Arc::new(texts(cells))
    } else if has_whole && !has_number {
        Arc::new(whole_numbers(cells))
    } else {
        Arc::new(numbers(cells))
    }
}

fn texts(cells: &[Option<Cell>]) -> StringArray {
    let mut values = Vec::new();
    for cell in cells {
        values.push(match cell {
            None => None,
            Some(Cell::Whole(value)) => Some(value.to_string()),
            Some(Cell::Number(value)) => Some(value.to_string()),
            Some(Cell::Text(value)) => Some(value.clone()),
        });
    }
    StringArray::from(values)
}

/// The cells that are whole numbers. The others are missing.
fn whole_numbers(cells: &[Option<Cell>]) -> Int64Array {
    let mut values = Vec::new();
    for cell in cells {
        values.push(match cell {
            Some(Cell::Whole(value)) => Some(*value),
            _ => None,
        });
    }
    Int64Array::from(values)
}

/// The cells that are numbers. The others are missing.
fn numbers(cells: &[Option<Cell>]) -> Float64Array {
    let mut values = Vec::new();
    for cell in cells {
        values.push(match cell {
            Some(Cell::Whole(value)) => Some(*value as f64),
            Some(Cell::Number(value)) => Some(*value),
            Some(Cell::Text(_)) | None => None,
        });
    }
    Float64Array::from(values)
}

/// An array of whole numbers or of numbers if all texts are such, else of texts.
fn array_of_texts(texts: &[&str]) -> ArrayRef {
    let whole: Result<Vec<i64>, _> = texts.iter().map(|text| text.parse()).collect();
    if let Ok(whole) = whole {
        return Arc::new(Int64Array::from(whole));
    }
    let numbers: Result<Vec<f64>, _> = texts.iter().map(|text| text.parse()).collect();
    if let Ok(numbers) = numbers {
        return Arc::new(Float64Array::from(numbers));
    }
    Arc::new(StringArray::from(texts.to_vec()))
}

/// A point of a sweep: keys with values, and rows.
type Point = (Vec<(String, String)>, Vec<report::SweepRow>);

impl Table {
    /// Rows of a sweep. Swept keys are columns of whole numbers, of numbers or of texts, because
    /// readers of Hive's folders take them so.
    pub(crate) fn of_sweep(points: &[Point]) -> PyResult<Self> {
        let mut fields: Vec<Field> = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let keys = points.first().map_or(&[][..], |(labels, _)| labels);
        for (number, (key, _)) in keys.iter().enumerate() {
            let mut values = Vec::new();
            for (labels, rows) in points {
                let (_, value) = &labels[number];
                values.extend(std::iter::repeat_n(value.as_str(), rows.len()));
            }
            let array = array_of_texts(&values);
            fields.push(Field::new(key, array.data_type().clone(), false));
            arrays.push(array);
        }
        let mut rows = Vec::new();
        for (_, of_point) in points {
            rows.extend_from_slice(of_point);
        }
        let table = report::sweep_table(&rows);
        fields.extend(table.header.iter().map(field));
        arrays.extend(table.batches[0].iter().map(array));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?;
        Ok(Self {
            schema,
            batches: vec![batch],
        })
    }
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn field(column: &report::Column) -> Field {
    let (kind, is_optional) = match column.cells() {
        Cells::Signed(_) => (DataType::Int64, false),
        Cells::OptionalSigned(_) => (DataType::Int64, true),
        Cells::Small(_) => (DataType::UInt32, false),
        Cells::Unsigned(_) => (DataType::UInt64, false),
        Cells::OptionalUnsigned(_) => (DataType::UInt64, true),
        Cells::Numbers(_) => (DataType::Float64, false),
        Cells::OptionalNumbers(_) => (DataType::Float64, true),
        Cells::Flags(_) => (DataType::Boolean, false),
        Cells::Texts(_) => (DataType::Utf8, false),
    };
    Field::new(column.name(), kind, is_optional)
}

fn array(column: &report::Column) -> ArrayRef {
    match column.cells() {
        Cells::Signed(values) => Arc::new(Int64Array::from(values.to_vec())),
        Cells::OptionalSigned(values) => Arc::new(Int64Array::from(values.to_vec())),
        Cells::Small(values) => Arc::new(UInt32Array::from(values.to_vec())),
        Cells::Unsigned(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Cells::OptionalUnsigned(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Cells::Numbers(values) => Arc::new(Float64Array::from(values.to_vec())),
        Cells::OptionalNumbers(values) => Arc::new(Float64Array::from(values.to_vec())),
        Cells::Flags(values) => Arc::new(BooleanArray::from(values.to_vec())),
        Cells::Texts(values) => Arc::new(StringArray::from(values)),
    }
}

#[pymethods]
impl Table {
    /// A table with named columns, equally long.
    #[new]
    fn of_columns(columns: Vec<(String, Vec<Option<Cell>>)>) -> PyResult<Self> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (name, cells) in &columns {
            let array = array_of(cells);
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?;
        Ok(Self {
            schema,
            batches: vec![batch],
        })
    }

    /// The table as a stream of Arrow arrays. The requested schema is ignored, because there is one
    /// form.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(
            batches,
            self.schema.clone(),
        )));
        // PyO3 0.28, the last version for Python 3.13t, has this name for the call too.
        #[allow(deprecated, reason = "new_with_value is missing in PyO3 0.28")]
        PyCapsule::new(py, stream, Some(STREAM.to_owned()))
    }

    /// The columns' names.
    fn names(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// A column's values, None where there is none.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index = self
            .schema
            .index_of(name)
            .map_err(|_| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))?;
        let all = PyList::empty(py);
        for batch in &self.batches {
            append(&all, batch.column(index))?;
        }
        Ok(all)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled<'py>,))> {
        let mut columns = Vec::new();
        for field in self.schema.fields() {
            let name = field.name().clone();
            let kind = field.data_type().to_string();
            columns.push((name, kind, field.is_nullable()));
        }
        let mut metadata = BTreeMap::new();
        for (name, value) in self.schema.metadata() {
            metadata.insert(name.clone(), value.clone());
        }
        let mut batches = Vec::new();
        for batch in &self.batches {
            let mut arrays = Vec::new();
            for array in batch.columns() {
                arrays.push(pickled(py, array));
            }
            batches.push(arrays);
        }
        Ok((
            py.import("roundelay._native")?.getattr("table")?,
            ((columns, metadata, batches),),
        ))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// An array in a pickle, as Arrow lays it out: length, bits of the values that are there, buffers.
type PickledArray<'py> = (usize, Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

/// A table in a pickle: columns (names, types and whether values may be missing), metadata, and
/// batches.
type Pickled<'py> = (
    Vec<(String, String, bool)>,
    BTreeMap<String, String>,
    Vec<Vec<PickledArray<'py>>>,
);

/// Takes a table out of a pickle.
///
/// # Errors
/// It is no table.
#[pyfunction(name = "table")]
pub(crate) fn unpickled_table(pickled: Pickled<'_>) -> PyResult<Table> {
    let (columns, metadata, batches) = pickled;
    let mut fields = Vec::new();
    for (name, kind, is_optional) in columns {
        let kind: DataType = kind.parse().map_err(failed)?;
        fields.push(Field::new(name, kind, is_optional));
    }
    let metadata = HashMap::from_iter(metadata);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut taken_out = Vec::new();
    for arrays in batches {
        let batch = unpickled_batch(&schema, arrays).map_err(failed)?;
        taken_out.push(batch);
    }
    Ok(Table {
        schema,
        batches: taken_out,
    })
}

fn unpickled_batch(
    schema: &SchemaRef,
    pickled: Vec<PickledArray<'_>>,
) -> Result<RecordBatch, ArrowError> {
    let mut arrays = Vec::new();
    for (field, pickled) in schema.fields().iter().zip(pickled) {
        arrays.push(unpickled(field.data_type(), pickled)?);
    }
    RecordBatch::try_new(schema.clone(), arrays)
}

fn pickled<'py>(py: Python<'py>, array: &ArrayRef) -> PickledArray<'py> {
    let data = array.to_data();
    let bits = data
        .nulls()
        .map(|bits| PyBytes::new(py, &bits.inner().sliced()));
    let mut buffers = Vec::new();
    for buffer in data.buffers() {
        buffers.push(PyBytes::new(py, buffer));
    }
    (data.len(), bits, buffers)
}

fn unpickled(kind: &DataType, pickled: PickledArray<'_>) -> Result<ArrayRef, ArrowError> {
    let (len, bits, bytes) = pickled;
    let bits = bits.map(|bits| aligned(&bits));
    let buffers = bytes.iter().map(aligned).collect();
    let data = ArrayData::try_new(kind.clone(), len, bits, 0, buffers, Vec::new())?;
    Ok(make_array(data))
}

/// A copy of the bytes, aligned as Arrow wants it.
fn aligned(bytes: &Bound<'_, PyBytes>) -> Buffer {
    Buffer::from(bytes.as_bytes())
}

fn append(all: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    let any = array.as_any();
    macro_rules! push {
        ($($kind:ty),*) => {
            $(if let Some(values) = any.downcast_ref::<$kind>() {
                for value in values {
                    all.append(value)?;
                }
                return Ok(());
            })*
        };
    }
    push!(
        Int64Array,
        UInt32Array,
        UInt64Array,
        Float64Array,
        BooleanArray,
        StringArray
    );
    Err(PyRuntimeError::new_err("a column of another type"))
}
